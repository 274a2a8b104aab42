"""What studies cost, before anything is trained."""

from collections.abc import Mapping

from synthlab.studies.overrides import Overrides
from synthlab.studies.study import Study
from synthlab.training.ensembles import plan_ensembles, seconds


def cost(studies: Mapping[str, Study], workers: int) -> tuple[int, float]:
    """Return how many runs the studies have together, each counted once, and about how many seconds so many workers
    train them for."""
    plans = [study.plan(name, Overrides()) for name, study in studies.items()]
    configs = list({config.id: config for plan in plans for config in plan.configs}.values())
    return len(configs), sum(map(seconds, plan_ensembles(configs, workers))) / workers
