"""Selection of each run's map of the target by its training lengths only (``outrep=chosen``)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from synthlab.regression.config import RunConfig
from synthlab.regression.construction import candidate_runs
from synthlab.storage.records import Record
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.exactness import split_inexact
from synthlab.training.execution import execute_together

WORST = 1e30  # the score of a model that diverged


def score_candidates(configs: Sequence[RunConfig], device: str = "cpu") -> Float[Tensor, "E C"]:
    """Train a model for each candidate of each run on the shorter training lengths; return the scores."""
    runs = [candidate_runs(config) for config in configs]
    planned = plan_ensembles([run for each in runs for run in each], 1, device)
    parts = [part for ensemble in planned for part in split_inexact(ensemble, device)]
    records = {record.config.id: record for part in parts for record in execute_together(part, device=device)}
    return torch.tensor([[score(records[run.id]) for run in each] for each in runs])


def score(record: Record) -> float:
    """Return the relative error, averaged over the lengths beyond training."""
    beyond = record.metrics.loc[record.metrics["length"] > record.config.train_length, "relative_error"]
    return WORST if record.diverged_at is not None else min(float(beyond.mean()), WORST)
