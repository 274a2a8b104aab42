"""Records made up for tests."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from support.configs import config
from synthlab.numbers.run import METRICS
from synthlab.runs.run import Run, resolve
from synthlab.storage.records import Record
from synthlab.training.execution import execute_together
from synthlab.training.trained import TrainedModel

CONFIG = config("task=length", "outrep=log")


def record(seed: int = 0, diverged_at: int | None = None, scale: float = 1.0, **changed) -> Record:
    """A made-up record: no training behind it."""
    follow = dict.fromkeys(CONFIG.SEEDS) | {"seed": seed}
    config = resolve(CONFIG.model_dump() | follow | changed)
    lengths = range(1, config.test_length + 1) if diverged_at is None else []
    columns = {name: [scale * (0.001 * k + seed) / 3 for k in lengths] for name in METRICS}
    return Record(
        config=config,
        metrics=pd.DataFrame({"length": lengths, **columns}),
        training=pd.DataFrame({"step": [2, 4], "loss": [1 / 3, 0.1]}),
        diverged_at=diverged_at,
        environment={"torch": "2"},
    )


def made_weights(number: float) -> dict[str, Tensor]:
    """The weights of a model that has two parameters and a buffer."""
    values = number + torch.arange(6) / 3
    table = torch.tensor([[5, 1]])
    return {"head.weight": values.view(1, 2, 3), "head.bias": values[None, :3].clone(), "table": table}


def with_weights(kept: Record, weights: Mapping[str, Tensor] | None, step: int | None = None) -> Record:
    """The record with weights made up, those after ``step`` or the last, beside those it has; None: without any."""
    more = {} if weights is None else {step or kept.config.steps: partial(dict, weights)}
    return replace(kept, weights={**kept.weights, **more} if more else {})


def as_lists(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: values.tolist() for name, values in weights.items()}


def all_weights(kept: Record) -> dict[int, Any]:
    """All weights of a record, by step, to compare."""
    return {step: as_lists(read()) for step, read in kept.weights.items()}


def final_weights(kept: Record) -> dict[str, Any]:
    return as_lists(kept.weights[kept.config.steps]())


def opened(config: Run) -> TrainedModel:
    """The trained model of a run that is recorded nowhere."""
    [record] = execute_together([config], keep=[config.steps])
    return record.model()


def made(value: float, seeds=(0, 1, 2), **changed) -> list:
    """Records whose every metric at length k is value k (1 + seed)."""
    runs = []
    for seed in seeds:
        blank = record(seed, **changed)
        lengths = blank.metrics["length"]
        columns = dict.fromkeys(METRICS, float(value) * lengths * (1 + seed))
        runs.append(replace(blank, metrics=pd.DataFrame({"length": lengths, **columns})))
    return runs


def encoded(name: str) -> dict:
    return {"encoding": {"name": name} | ({"base": 1e4} if name == "rope" else {})}


def unmeasured(seed: int = 0) -> Record:
    """A record whose error is NaN at length 2 and infinite at length 3, as a map of the user's own can make it."""
    kept = record(seed)
    kept.metrics.loc[1, ["mse", "relative_error"]], kept.metrics.loc[2, ["mse", "bias"]] = np.nan, -np.inf
    return replace(kept, outputs=pd.DataFrame({"zero": [np.nan, np.inf], "one": [1.0, -np.inf]}))
