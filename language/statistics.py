"""Correlations over models, and how far they can be trusted."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

RESAMPLES = 1000
COVERAGE = 0.95
Statistic = Callable[[Float[np.ndarray, " N"], Float[np.ndarray, " N"]], float]


class Correlation(NamedTuple):
    """A correlation over models and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def pearson(x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"]) -> float:
    """Pearson's correlation; NaN where one of the two does not vary, or is not finite."""
    x, y = x - x.mean(), y - y.mean()
    spread = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / spread) if spread > 0 else float("nan")


def spearman(x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"]) -> float:
    """Spearman's rank correlation, ties sharing their mean rank."""
    return pearson(_ranks(x), _ranks(y))


def correlation(rows: pd.DataFrame, x: str, y: str, group: str, how: Statistic = pearson) -> Correlation:
    """Of the columns ``x`` and ``y``, with the bootstrap's percentile interval. Rows of one ``group``, such as the
    seeds of one model, are drawn together: they are no independent witnesses."""
    a, b = (rows[column].to_numpy(dtype=float) for column in (x, y))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Correlation(*[float("nan")] * 3)
    generator = np.random.default_rng(0)
    places = list(rows.reset_index(drop=True).groupby(group, sort=False).indices.values())
    found = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([places[i] for i in generator.integers(len(places), size=len(places))])
        found.append(how(a[drawn], b[drawn]))
    low, high = np.nanquantile(found, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]) if len(places) > 1 else (np.nan, np.nan)
    return Correlation(how(a, b), float(low), float(high))


def _ranks(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
