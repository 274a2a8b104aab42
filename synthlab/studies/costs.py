"""The cost of studies, before anything is trained."""

from collections.abc import Sequence

from synthlab.config.base import Config
from synthlab.studies.overrides import Overrides
from synthlab.studies.seeds import count_first
from synthlab.studies.study import Study
from synthlab.training.ensembles import plan_ensembles, seconds


def list_runs(study: Study, overrides: Overrides) -> dict[str, Config]:
    """Return the runs of a study by an identity, as far as its file describes them."""
    seeds = {key: range(count_first(study.seeds_of(key))) for key in study.grids}
    cells = [
        cell
        for key, grid in study.grids.items()
        for cell in grid.cells("study", overrides, seeds[key], study.task, study.kind, True)
    ]
    return {config.id: config for cell in cells for config in cell.configs}


def minutes(configs: Sequence[Config], workers: int) -> float:
    """Return the approximate minutes of training the runs on ``workers`` processes."""
    return sum(map(seconds, plan_ensembles(configs, workers))) / workers / 60
