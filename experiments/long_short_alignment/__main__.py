"""``synthlab language``: train miniature language models, study long-short misalignment, and judge its claims."""

import shlex
import sys
from functools import partial
from typing import Any

from synthlab.cli import hydra_app as cli
from synthlab.errors import InputError
from synthlab.studies import settings


class Settings(settings.Settings):
    """The keys that are the studies', not their runs'."""

    study: Any
    seeds: settings.Seeds | None


def task(raw: dict[str, Any], command: str) -> bool:
    """Train, analyse, judge, report, and name the files written; False if a run diverged. ``command`` is as typed."""
    from experiments.long_short_alignment.output import ABOUT, Results
    from experiments.long_short_alignment.studies import all_heeded, overrides_of, plan, studies
    from synthlab.output import say
    from synthlab.studies.report import left_out_lines, verdict_lines, write_report
    from synthlab.sweeps.sweep import all_recorded, checked_workers, ensure
    from synthlab.training.devices import find_device

    own = Settings.of(raw)
    device, workers = find_device(own.device), checked_workers(own.workers)
    chosen, overrides = studies(own.study), overrides_of(Settings.model_fields)
    plans = {name: plan(name, study, overrides, own.seeds) for name, study in chosen.items()}
    configs = [config for planned in plans.values() for config in planned.configs]
    kinds = {type(config): [each for each in configs if type(each) is type(config)] for config in configs}
    all_heeded(overrides, kinds)
    results, records = Results(own.results, own.replot), {}
    for kind, runs in kinds.items():
        if own.replot:
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
    files = [*(file for each in found.values() for file in each.picture.files), page]
    lost = left_out_lines(records.values())
    found_out = [*(line for each in found.values() for line in each.lines), *verdict_lines(verdicts)]
    say("written:", *(f"  {file}" for file in files), *lost, *found_out)
    return not lost


def main() -> None:
    command = shlex.join(["synthlab", "language", *sys.argv[1:]])
    cli.main(partial(task, command=command), "language", "studies are not swept; give a grid: study=grid")


if __name__ == "__main__":
    main()
