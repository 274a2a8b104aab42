"""``python -m experiments.rewrite_records FOLDER``: rewrite records of the layout before Parquet files, once.

That layout had a folder of small files for each run. They are moved to ``FOLDER/earlier`` and written anew, with the
same numbers to the last bit; each record is read back and compared. Delete ``earlier`` when you no longer need it. If
it is interrupted, the same command goes on.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from safetensors.torch import load_file

from synthlab.errors import UnknownFamily
from synthlab.output import print_err, print_out
from synthlab.runs.run import FORMER_FAMILIES, config_of
from synthlab.storage.records import INTEGER_COLUMNS, Failure, Record
from synthlab.storage.store import IDENTITY, Store

AT_ONCE = 1000  # records in memory


def rewrite(folder: Path) -> int:
    """Rewrite the records below ``folder``; return their number."""
    earlier, number = folder / "earlier", 0
    for pattern in ("runs/*", "failed/*", "tags/*/*"):
        for path in (path for path in list(folder.glob(pattern)) if IDENTITY.fullmatch(path.name)):
            to = earlier / path.relative_to(folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)
    store, records = Store(folder), _read_records(earlier / "runs")
    while part := list(islice(records, AT_ONCE)):
        store.write(*part)
        read = {record.config.id: record for record in store.read_all([each.config.id for each in part])}
        for record in part:
            _check_same(record, read[record.config.id])
        number += len(part)
    for path in (earlier / "failed").glob("*/status.json"):
        about = json.loads(path.read_text())
        trace = path.with_name("traceback.txt").read_text()
        store.write_failure(Failure(config_of(_rename(about["config"])), about["error"], trace, about["environment"]))
    for path in (earlier / "tags").glob("*"):
        Store(folder, tag=path.name).tag_runs(each.name for each in path.iterdir() if IDENTITY.fullmatch(each.name))
    return number


def _rename(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a run's settings with today's name of its family."""
    kind = settings.pop("kind")
    return settings | {"family": next((now for now, former in FORMER_FAMILIES.items() if former == kind), kind)}


def _read_records(folder: Path) -> Iterator[Record]:
    for run in sorted(folder.glob("*")):
        try:
            config = config_of(_rename(json.loads((run / "config.json").read_text())))
        except (OSError, ValueError, UnknownFamily) as error:
            print_err(f"{run}: left out ({error})")
            continue
        status = json.loads((run / "status.json").read_text())
        tables: dict[str, Any] = {name: _read_table(run / f"{name}.csv") for name in ("metrics", "training", "outputs")}
        weights = {
            int(re.sub(r"\D", "", path.stem) or config.steps): partial(load_file, path)
            for path in run.glob("weights*.safetensors")
        }
        if config.id != run.name or status["results_version"] != config.results_version:
            print_err(f"{run}: left out (of another results version)")
            continue
        yield Record(
            config, diverged_at=status["diverged_at"], environment=status["environment"], weights=weights, **tables
        )


def _read_table(path: Path) -> pd.DataFrame | None:
    if not path.exists():
        return None
    names, *rows = csv.reader(path.read_text().splitlines())
    kinds = ["int64" if name in INTEGER_COLUMNS else "float64" for name in names]
    columns = {
        name: pd.Series(
            [float(row[place] or "nan") if kind == "float64" else int(row[place]) for row in rows], dtype=kind
        )
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    }
    return pd.DataFrame(columns)


def _check_same(one: Record, other: Record) -> None:
    for name in ("metrics", "training", "outputs"):
        a, b = getattr(one, name), getattr(other, name)
        if not (a is b is None or a.equals(b)):
            raise RuntimeError(f"{one.config.id}: {name} were not written as they were read")
    if (one.config, one.environment, one.diverged_at) != (other.config, other.environment, other.diverged_at):
        raise RuntimeError(f"{one.config.id}: was not written as it was read")


if __name__ == "__main__":
    print_out(f"{rewrite(Path(sys.argv[1]))} records rewritten")
