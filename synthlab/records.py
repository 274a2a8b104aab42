"""What a run leaves behind, and the store it is kept in.

A record is a folder named by the run's identity: ``config.json``, ``metrics.csv`` (a row for each test length),
``training.csv`` (the training curve) and ``status.json``, which holds the outcome, the environment and a checksum of
each other file. It is written under another name and renamed when complete, so that it is there whole or not at all.
"""

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.evaluation import horizon

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOLE = ("length", "step")  # columns of whole numbers
STALE = 3600  # seconds after which a half-written record must be an interrupted run's


@dataclass(frozen=True)
class Record:
    """One run: its config, its outcome, its numbers.

    ``metrics`` has a row for each test length (columns ``length`` and ``evaluation.METRICS``), ``training`` one for
    each point of the training curve (``step``, ``loss``). A run whose loss was not finite has status "diverged", the
    step in ``diverged_at``, and no metrics.
    """

    config: RunConfig
    metrics: pd.DataFrame
    training: pd.DataFrame
    diverged_at: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``finished`` or ``diverged``."""
        return "finished" if self.diverged_at is None else "diverged"

    def columns(self) -> dict[str, Any]:
        """The config as table columns: a group's name under the group's, its other keys under ``group.key``."""
        flat = {"id": self.config.id, "status": self.status}
        for key, value in self.config.model_dump().items():
            flat |= dict(_flat(key, value))
        return flat

    def table(self) -> pd.DataFrame:
        """The metrics, a row for each test length, with the config's columns before them; a single row without length
        for a diverged run."""
        if self.diverged_at is not None:
            return pd.DataFrame([self.columns() | {"diverged_at": self.diverged_at}])
        config = pd.DataFrame([self.columns()] * len(self.metrics))
        return pd.concat([config, self.metrics, _horizon(self.metrics)], axis=1)


class Records(list[Record]):
    """Records in a row: they print as a table, and ``plot`` draws them."""

    def table(self) -> pd.DataFrame:
        """One tidy table: a row for each run and test length, columns for the config and the metrics."""
        return pd.concat([record.table() for record in self], ignore_index=True) if self else pd.DataFrame()

    def summary(self) -> pd.DataFrame:
        """Error at a few lengths, one row a length: median over seeds, and the range where there are several."""
        from synthlab.tables import summary

        return summary(self)

    def plot(self, metric: str = "mse", path: str | os.PathLike | None = None) -> "Figure":
        """``metric`` against test length, a curve for each config: median over seeds, band from least to greatest.

        Saved to ``path`` where one is given (the suffix decides the format).
        """
        from synthlab.plots import plot_records

        return plot_records(self, metric, path)

    def __repr__(self) -> str:
        from synthlab.tables import render

        return render(self)

    def _repr_html_(self) -> str:
        return self.summary().to_html()


class Store:
    """The records below one folder, by identity."""

    def __init__(self, root: str | os.PathLike):
        self.root = Path(root)
        self.runs = self.root / "runs"

    def make_writable(self, folder: str = "runs") -> Path:
        """Make ``folder`` below the root, try to write to it, and return it; raises InputError if that fails."""
        path = self.root / folder
        probe = path / f".probe-{secrets.token_hex(4)}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(f"results={self.root}: cannot be written ({error.strerror}); give a folder") from None
        return path

    def sweep(self) -> None:
        """Remove what interrupted runs left half-written."""
        for left in self.runs.glob(".partial-*"):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)

    def ids(self) -> Iterator[str]:
        """The identities of all records, in order of name."""
        if self.runs.is_dir():
            yield from sorted(path.name for path in self.runs.iterdir() if not path.name.startswith("."))

    def find(self, config: RunConfig) -> Record | None:
        """The record of this run, or None if it has not been made. Raises InputError for a damaged one."""
        return self.read(config.id) if (self.runs / config.id).exists() else None

    def read(self, identity: str) -> Record:
        """The record called ``identity``; raises InputError, naming the file, if it is damaged."""
        folder = self.runs / identity
        try:
            status = json.loads((folder / "status.json").read_text())
            files = {name: _checked(folder / name, digest) for name, digest in status["sha256"].items()}
            config = RunConfig.checked(json.loads(files["config.json"]))
            if config.id != identity:
                raise _Damaged(f"it holds the run {config.id}")
            return Record(
                config=config,
                metrics=_table(files["metrics.csv"]),
                training=_table(files["training.csv"]),
                diverged_at=status["diverged_at"],
                environment=status["environment"],
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, _Damaged) else f"{type(error).__name__}: {error}"
            reason = " ".join(reason.split())
            raise InputError(f"{folder}: damaged record ({reason}); remove the folder to train it again") from None

    def write(self, record: Record) -> None:
        """Keep ``record``, whole or not at all. One that is already there stays as it is."""
        files = {
            "config.json": json.dumps(record.config.model_dump(), indent=1) + "\n",
            "metrics.csv": record.metrics.to_csv(index=False),
            "training.csv": record.training.to_csv(index=False),
        }
        status = {
            "status": record.status,
            "diverged_at": record.diverged_at,
            "environment": record.environment,
            "sha256": {name: _digest(text.encode()) for name, text in files.items()},
        }
        files["status.json"] = json.dumps(status, indent=1) + "\n"
        partial = self.runs / f".partial-{record.config.id}-{secrets.token_hex(4)}"
        partial.mkdir(parents=True)
        for name, text in files.items():
            with open(partial / name, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        try:
            partial.rename(self.runs / record.config.id)
        except OSError:  # another process has made the same record in the meantime
            shutil.rmtree(partial)
            if not (self.runs / record.config.id).is_dir():
                raise


def load_records(results: str | os.PathLike = "results") -> pd.DataFrame:
    """One tidy table over all runs below ``results``: see ``Records.table``. Raises InputError for a damaged record."""
    store = Store(results)
    return Records(store.read(identity) for identity in store.ids()).table()


class _Damaged(ValueError):
    pass


def _checked(path: Path, digest: str) -> str:
    data = path.read_bytes()
    if _digest(data) != digest:
        raise _Damaged(f"{path.name} does not have its checksum")
    return data.decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _table(text: str) -> pd.DataFrame:
    # Converted from text here: not every version of pandas reads floats back to the last bit by default.
    table = pd.read_csv(StringIO(text), dtype=str)
    return table.astype({column: "int64" if column in WHOLE else "float64" for column in table})


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, item in value.items():
        yield from _flat(key if inner == "name" else f"{key}.{inner}", item)


def _horizon(metrics: pd.DataFrame) -> pd.Series:
    return pd.Series([horizon(metrics["relative_error"].to_numpy())] * len(metrics), name="horizon")
