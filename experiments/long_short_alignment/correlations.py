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
    seeds of one model, are drawn together: they are no independent witnesses. With few groups the interval is too
    short: of seven it covers about 90 % where 95 is said."""
    return _bootstrapped(rows, [x, y], group, how)


def lead(rows: pd.DataFrame, x: str, other: str, y: str, group: str, how: Statistic = pearson) -> Correlation:
    """By how much the correlation of ``x`` with ``y`` exceeds that of ``other`` with ``y``, with its interval."""
    return _bootstrapped(rows, [x, other, y], group, lambda a, b, c: how(a, c) - how(b, c))


def without_one(rows: pd.DataFrame, x: str, y: str, by: str, how: Statistic = pearson) -> tuple[float, float]:
    """The least and the greatest correlation when all rows with one value of the column ``by`` are left out: does one
    of them carry it?"""
    parts = (rows[rows[by] != value] for value in rows[by].unique())
    found = [how(part[x].to_numpy(), part[y].to_numpy()) for part in parts if len(part)]
    return (min(found), max(found)) if found else (np.nan, np.nan)


def _bootstrapped(rows: pd.DataFrame, columns: list[str], group: str, statistic: Callable[..., float]) -> Correlation:
    """``statistic`` of the columns, and its interval over draws of whole groups; NaN where a value is not finite."""
    values = rows[columns].to_numpy(dtype=float).T
    if not np.isfinite(values).all():
        return Correlation(*[float("nan")] * 3)
    generator = np.random.default_rng(0)
    places = list(rows.reset_index(drop=True).groupby(group, sort=False).indices.values())
    value = statistic(*values)
    if len(places) < 2:
        return Correlation(value, np.nan, np.nan)
    found = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([places[i] for i in generator.integers(len(places), size=len(places))])
        found.append(statistic(*values[:, drawn]))
    low, high = np.nanquantile(found, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Correlation(value, float(low), float(high))


def _ranks(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
