"""The measures of runs on regression tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from synthlab.metrics import Measures, Metric, reach

if TYPE_CHECKING:
    from synthlab.regression.config import RunConfig
    from synthlab.storage.records import Record

METRICS = {
    "mse": Metric("mean squared error, original scale", "lower", "log", ".3g"),
    "mse_rep": Metric("mean squared error in representation space", "lower", "log"),
    "relative_error": Metric("mean absolute error / mean absolute target", "lower", "log", ".2%"),
    "bias": Metric("mean of prediction - target, original scale", None, "log", ".3g"),
    "clipped": Metric(
        "fraction of outputs that were clipped: they decode to no answer up to evaluation.largest",
        "lower",
        "linear",
        ".1%",
    ),
}


def horizon(relative_error: Float[np.ndarray, " L"], threshold: float = 0.05) -> int:
    """Return the largest length up to which the relative error stays under ``threshold``; 0 if it never does."""
    return reach(range(1, len(relative_error) + 1), np.asarray(relative_error) < threshold)


def chance(config: "RunConfig", metrics: pd.DataFrame) -> Sequence[float] | None:
    """Return the squared error of the best constant prediction at each test length.

    Return None for classes of the user, since reading a record must not import them.
    """
    from synthlab.regression.baseline import constant_errors
    from synthlab.regression.inputs import INPUTS
    from synthlab.regression.tasks import TASKS

    if config.task["name"] not in TASKS or config.inputs["name"] not in INPUTS:
        return None
    return constant_errors(config)[metrics["length"].to_numpy() - 1].tolist()


def describe_map(record: "Record") -> str | None:
    """Return what a run has learned of its map, or the map that it has chosen; None for a fixed map."""
    learned = record.training.drop(columns=["step", "loss"])
    if len(learned.columns):
        last = learned.iloc[-1]
        return f"learned map: {', '.join(f'{name} {value:.3g}' for name, value in last.items())}"
    if record.outputs is not None and cast("RunConfig", record.config).outrep["name"] == "chosen":
        scores = record.outputs.iloc[0]
        return f"chosen map: {scores.idxmin()} (relative error at held-out lengths: {scores.min():.2%})"
    return None


MEASURES = Measures(
    METRICS,
    primary="mse",
    ranking=("relative_error", "mse"),
    criterion="relative error stays under 5 %",
    horizon=lambda config, metrics: horizon(metrics["relative_error"].to_numpy()),
    chance=chance,
    remark=describe_map,
)
