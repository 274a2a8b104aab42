"""Records made up for tests."""

from dataclasses import replace

import numpy as np
import pandas as pd

from support.configs import config
from synthlab.metrics import METRICS
from synthlab.regression.construction import resolve
from synthlab.storage.records import Record

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
