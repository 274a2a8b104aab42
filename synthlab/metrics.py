"""Metrics of regression tasks at each test length."""

import numpy as np
from jaxtyping import Float

# The metrics recorded for each length, each with its meaning.
METRICS = {
    "mse": "mean squared error, original scale",
    "mse_rep": "mean squared error in representation space",
    "relative_error": "mean absolute error / mean absolute target",
    "bias": "mean of prediction - target, original scale",
    "clipped": "fraction of outputs that were clipped: they decode to no answer up to evaluation.largest",
}


def horizon(relative_error: Float[np.ndarray, " L"], threshold: float = 0.05) -> int:
    """The largest length up to which the relative error stays under ``threshold``; 0 if it never does."""
    above = np.flatnonzero(~(np.asarray(relative_error) < threshold))
    return int(above[0]) if len(above) else len(relative_error)
