"""``synthlab figures``: train what is missing for the paper's figures, draw them, and judge its claims."""

import re
import shlex
import sys
from functools import partial
from typing import Any

from synthlab.cli import hydra_app as cli
from synthlab.config.base import BOOKKEEPING
from synthlab.errors import InputError
from synthlab.studies import settings


class Settings(settings.Settings):
    """The keys that are the figures', not their runs'."""

    figure: Any
    seeds: settings.Seeds


def task(raw: dict[str, Any], command: str) -> bool:
    """Train, draw, judge, report, and name the files written; False if a run diverged. ``command`` is as typed."""
    from experiments.output_alignment.figures import ABOUT, best, cells, figures
    from synthlab.config.composition import Composed
    from synthlab.output import say
    from synthlab.storage.store import Store
    from synthlab.studies.figure_files import Folder
    from synthlab.studies.report import left_out_lines, verdict_lines, verdict_table, write_report
    from synthlab.sweeps.sweep import all_recorded, checked_workers, ensure
    from synthlab.sweeps.trackers import tracker_of
    from synthlab.training.devices import find_device

    own = Settings.of(raw)
    device = find_device(own.device)
    chosen, store = figures(own.figure), Store(own.results)
    runs_own, changes = _overrides()
    run = {key: value for key, value in raw.items() if key not in Settings.model_fields or key in BOOKKEEPING}
    base = Composed(run, runs_own)
    grids = {
        name: {key: cells(panel, base, own.seeds) for key, panel in figure.panels.items()}
        for name, figure in chosen.items()
    }
    configs = [c for grid in grids.values() for panel in grid.values() for cell in panel for c in cell.configs]
    if own.replot:
        all_recorded(configs, store)
    folder = Folder(store.root / "figures")
    store.make_writable(".")
    store.make_writable("figures")
    tracker = tracker_of(raw["tracker"])
    trained = ensure(configs, store, checked_workers(own.workers), device=device, tracker=tracker)
    records = {record.config.id: record for record in trained}
    found = {
        name: {key: [best(cell, records) for cell in panel] for key, panel in grid.items()}
        for name, grid in grids.items()
    }
    verdicts = [verdict for name, figure in chosen.items() for verdict in _judge(figure, found[name], changes)]
    table, page = store.root / "claims.csv", store.root / "report.html"
    try:
        pictures = [_draw(folder, name, figure, found[name], changes) for name, figure in chosen.items()]
        verdict_table(verdicts).to_csv(table, index=False)
        write_report(page, pictures, verdicts, list(records.values()), command, ABOUT)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
    files = [*(file for picture in pictures for file in picture.files), table, page]
    lost = left_out_lines(records.values())
    say("written:", *(f"  {file}" for file in files), *lost, *verdict_lines(verdicts))
    return not lost


def _draw(folder: Any, name: str, figure: Any, found: dict[str, Any], changes: str) -> Any:
    """The figure's files, written."""
    from experiments.output_alignment.figures import drawn_data
    from synthlab.studies.figure_files import Drawn
    from synthlab.studies.plots import PLOTS
    from synthlab.studies.report import Picture

    panels = {
        key: Drawn(panel.title, PLOTS.build(panel.plot), drawn_data(panel, found[key], changes))
        for key, panel in figure.panels.items()
    }
    files = folder.save_sheet(name, figure.title, panels)
    for key, panel in panels.items():
        files += folder.save_panel(f"{name}{key}", panel)
    return Picture(name, figure.title, [panel.title for panel in panels.values()], files)


def _judge(figure: Any, found: dict[str, Any], changes: str) -> list[Any]:
    """The verdicts on the claims that the figure's panels name; what is not the figure as it stands says so."""
    from experiments.output_alignment.claims import CLAIMS
    from synthlab.studies.verdicts import Evidence, judge

    panels = [
        (panel.claims, Evidence({series.label: series.records for _, series in found[key]}))
        for key, panel in figure.panels.items()
    ]
    name = figure.title.split(":")[0]
    return judge(CLAIMS.values(), f"{name}, {changes}" if changes else name, panels)


def _overrides() -> tuple[dict[str, str], str]:
    """The command line's overrides of the runs' own settings, by key; and in one line all that make the figures others
    than those of ``conf/figure/``."""
    from synthlab.config.composition import typed_overrides

    given = typed_overrides()
    if "seed" in given:
        raise InputError(f"{given['seed']}: figures take their seeds from 0 on; give seeds=N")
    not_runs = {*Settings.model_fields, *BOOKKEEPING}
    runs_own = {key: override for key, override in given.items() if key.split(".")[0] not in not_runs}
    for override in runs_own.values():
        if override.startswith("~") or "${" in override:
            raise InputError(f"{override}: a figure's runs take plain values; write key=value")
    edits = [override for key, override in given.items() if key.startswith("figure.")]
    return runs_own, " ".join([*runs_own.values(), *edits])


def _quoted(override: str) -> str:
    """``figure=3`` with the 3 in quotes: Hydra takes it for a number and refuses it as the name of a group's file."""
    return re.sub(r"(?<=[=,])(\d+)(?=,|$)", r"'\1'", override)


def main() -> None:
    command = shlex.join(["synthlab", "figures", *sys.argv[1:]])
    sys.argv = [_quoted(word) if word.startswith("figure=") else word for word in sys.argv]
    no_sweeps = "figures are not swept; name one, or several in a file of conf/figure/"
    cli.main(partial(task, command=command), "experiments", no_sweeps)


if __name__ == "__main__":
    main()
