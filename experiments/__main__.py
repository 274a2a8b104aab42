"""``python -m experiments``: train what is missing for the figures asked for, then draw them."""

import os
import re
import sys
from typing import Any

from pydantic import BaseModel, PositiveInt

from synthlab import cli
from synthlab.errors import InputError
from synthlab.registry import STRICT, validated


class Settings(BaseModel):
    """The keys that are the figures', not their runs'; each is described in ``conf/experiments.yaml``."""

    model_config = STRICT
    figure: Any
    seeds: PositiveInt
    workers: PositiveInt | None
    replot: bool
    results: str


def task(raw: dict[str, Any]) -> bool:
    """Train, draw, and name the files written; False if a run diverged."""
    from experiments.drawing import save_panel, save_sheet
    from experiments.figures import cells, drawn_data, figures
    from synthlab.records import Store
    from synthlab.runs import ensure

    settings = validated(Settings, {key: raw[key] for key in Settings.model_fields if key in raw}, "")
    chosen, overrides, store = figures(settings.figure), _run_overrides(), Store(settings.results)
    grids = {
        name: {key: cells(panel, overrides, settings.seeds) for key, panel in figure.panels.items()}
        for name, figure in chosen.items()
    }
    configs = [c for grid in grids.values() for panel in grid.values() for cell in panel for c in cell.configs]
    if settings.replot:
        _all_recorded(configs, store)
    folder = store.make_writable("figures")
    trained = ensure(configs, store, settings.workers or os.cpu_count() or 1)
    records = {record.config.id: record for record in trained}
    for name, figure in chosen.items():
        panels = {
            key: (panel.title, panel.plot, drawn_data(panel, grids[name][key], records, overrides))
            for key, panel in figure.panels.items()
        }
        written = save_sheet(folder / name, figure.title, panels)
        for key, panel in panels.items():
            written += save_panel(folder / f"{name}{key}", *panel)
        print("written:", *written, sep="\n  ")
    diverged = [record for record in records.values() if record.diverged_at is not None]
    for record in diverged:
        print(f"left out: run {record.config.id} diverged at step {record.diverged_at}")
    return not diverged


def _run_overrides() -> dict[str, str]:
    """The command line's overrides of the runs' own settings, by key."""
    from hydra.core.hydra_config import HydraConfig

    given = {override.lstrip("+~").split("=")[0]: override for override in HydraConfig.get().overrides.task}
    if "seed" in given:
        raise InputError(f"{given['seed']}: figures take their seeds from 0 on; give seeds=N")
    return {key: override for key, override in given.items() if key.split(".")[0] not in Settings.model_fields}


def _all_recorded(configs: list[Any], store: Any) -> None:
    missing = {config.id for config in configs if not store.holds(config)}
    if missing:
        total = len({config.id for config in configs})
        raise InputError(f"replot=true: {len(missing)} of {total} runs are not recorded below {store.root}; train them")


def _quoted(override: str) -> str:
    """``figure=3`` with the 3 in quotes: Hydra takes it for a number and refuses it as the name of a group's file."""
    return re.sub(r"(?<=[=,])(\d+)(?=,|$)", r"'\1'", override)


def main() -> None:
    sys.argv = [_quoted(word) if word.startswith("figure=") else word for word in sys.argv]
    cli.main(task, "experiments")


if __name__ == "__main__":
    main()
