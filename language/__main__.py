"""``python -m language``: train what is missing for the studies asked for, then write tables, figures and claims."""

import shlex
import sys
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveInt

from synthlab import cli
from synthlab.errors import InputError
from synthlab.registry import STRICT, validated


class Settings(BaseModel):
    """The keys that are the studies', not their runs'; each is described in ``conf/language.yaml``."""

    model_config = STRICT
    study: Any
    seeds: Annotated[int, Field(gt=0, le=10_000)]
    workers: PositiveInt | None
    replot: bool
    results: str
    device: str


def task(raw: dict[str, Any], command: str) -> bool:
    """Train, analyse, judge, report, and name the files written; False if a run diverged. ``command`` is as typed."""
    from experiments.report import verdict_lines, write_report
    from language.results import ABOUT, Results
    from language.studies import all_heeded, overrides_of, plan, studies
    from synthlab.sweeps import all_recorded, checked_workers, ensure
    from synthlab.workers import find_device

    settings = validated(Settings, {key: raw[key] for key in Settings.model_fields if key in raw}, "")
    device, workers = find_device(settings.device), checked_workers(settings.workers)
    chosen, overrides = studies(settings.study), overrides_of(Settings.model_fields)
    plans = {name: plan(name, study, overrides, settings.seeds) for name, study in chosen.items()}
    configs = [config for planned in plans.values() for config in planned.configs]
    kinds = {type(config): [each for each in configs if type(each) is type(config)] for config in configs}
    all_heeded(overrides, kinds)
    results, records = Results(settings.results, settings.replot), {}
    for kind, runs in kinds.items():
        if settings.replot:
            all_recorded(runs, results.store(kind))
        trained = ensure(runs, results.store(kind), workers, device=device)
        records |= {record.config.id: record for record in trained}
    found = {name: results.write(name, study, plans[name], records) for name, study in chosen.items()}
    pictures = [each.picture for each in found.values()]
    verdicts = [verdict for each in found.values() for verdict in each.verdicts]
    page = results.folder.path / "report.html"
    try:
        write_report(page, pictures, verdicts, list(records.values()), command, ABOUT)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
    print("written:", *(file for each in found.values() for file in each.files), page, sep="\n  ")
    diverged = [record for record in records.values() if record.diverged_at is not None]
    lost = [f"left out: run {record.config.id} diverged at step {record.diverged_at}" for record in diverged]
    print(*lost, *(line for each in found.values() for line in each.lines), *verdict_lines(verdicts), sep="\n")
    return not diverged


def main() -> None:
    command = shlex.join(["python", "-m", "language", *sys.argv[1:]])
    cli.main(partial(task, command=command), "language", "studies are not swept; give a grid: study=grid")


if __name__ == "__main__":
    main()
