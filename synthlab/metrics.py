"""What is measured at each test length."""

import numpy as np
from jaxtyping import Float

# What is recorded for each length, and what it means.
METRICS = {
    "mse": "mean squared error, natural units",
    "mse_rep": "mean squared error in representation space",
    "relative_error": "mean absolute error / mean absolute target",
    "bias": "mean of prediction - target, natural units",
    "clipped": "share of outputs that stand for no answer up to evaluation.largest, and were clipped",
}


def horizon(relative_error: Float[np.ndarray, " L"], threshold: float = 0.05) -> int:
    """The largest length up to which the relative error stays under ``threshold``; 0 if it never does."""
    above = np.flatnonzero(~(np.asarray(relative_error) < threshold))
    return int(above[0]) if len(above) else len(relative_error)
