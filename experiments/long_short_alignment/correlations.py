"""Correlations over models, and how far they can be trusted."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

RESAMPLES = 1000
COVERAGE = 0.95
Statistic = Callable[..., Float[np.ndarray, "*R"]]  # pearson or spearman


class Correlation(NamedTuple):
    """A correlation over models and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def pearson(
    x: Float[np.ndarray, "*#R N"], y: Float[np.ndarray, "*#R N"], counts: Float[np.ndarray, "*#R N"] | None = None
) -> Float[np.ndarray, "*R"]:
    """Pearson's correlation, each point taken as often as ``counts`` says (by default once); NaN where one of the two
    does not vary, or is not finite."""
    counts = np.ones_like(x) if counts is None else counts
    total = counts.sum(-1, keepdims=True)
    x, y = (values - (counts * values).sum(-1, keepdims=True) / total for values in (x, y))
    spread = np.asarray(np.sqrt((counts * x * x).sum(-1) * (counts * y * y).sum(-1)))
    varies = _vary(x, counts) & _vary(y, counts)
    return np.divide((counts * x * y).sum(-1), spread, out=np.full(spread.shape, np.nan), where=varies & (spread > 0))


def spearman(
    x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"], counts: Float[np.ndarray, "*R N"] | None = None
) -> Float[np.ndarray, "*R"]:
    """Spearman's rank correlation, ties sharing their mean rank; ``counts`` as above."""
    counts = np.ones_like(x) if counts is None else counts
    return pearson(_ranks(x, counts), _ranks(y, counts), counts)


def correlation(rows: pd.DataFrame, x: str, y: str, group: str, how: Statistic = pearson) -> Correlation:
    """Of the columns ``x`` and ``y``, with the bootstrap's percentile interval. Rows of one ``group``, such as the
    seeds of one model, are drawn together: they are no independent witnesses. With few groups the interval is too
    short: of seven it covers about 90 % where 95 is said."""
    return _bootstrapped(rows, [x, y], group, how)


def lead(rows: pd.DataFrame, x: str, other: str, y: str, group: str, how: Statistic = pearson) -> Correlation:
    """By how much the correlation of ``x`` with ``y`` exceeds that of ``other`` with ``y``, with its interval."""
    return _bootstrapped(rows, [x, other, y], group, lambda a, b, c, *n: how(a, c, *n) - how(b, c, *n))


def without_one(rows: pd.DataFrame, x: str, y: str, by: str, how: Statistic = pearson) -> tuple[float, float]:
    """The least and the greatest correlation when all rows with one value of the column ``by`` are left out: does one
    of them carry it?"""
    parts = (rows[rows[by] != value] for value in rows[by].unique())
    found = [float(how(part[x].to_numpy(dtype=float), part[y].to_numpy(dtype=float))) for part in parts if len(part)]
    return (min(found), max(found)) if found else (np.nan, np.nan)


def _bootstrapped(
    rows: pd.DataFrame, columns: list[str], group: str, statistic: Callable[..., Float[np.ndarray, "*R"]]
) -> Correlation:
    """``statistic`` of the columns, and its interval over draws of whole groups; NaN where a value is not finite."""
    values = rows[columns].to_numpy(dtype=float).T
    if not values.size or not np.isfinite(values).all():
        return Correlation(*[float("nan")] * 3)
    value, groups = float(statistic(*values)), pd.factorize(rows[group])[0]
    number = groups.max() + 1
    if number < 2:
        return Correlation(value, np.nan, np.nan)
    drawn = np.random.default_rng(0).integers(number, size=(RESAMPLES, number))
    times = np.stack([np.bincount(each, minlength=number) for each in drawn])  # that each group is drawn
    found = statistic(*values, times[:, groups].astype(float))
    low, high = np.nanquantile(found, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Correlation(value, float(low), float(high))


def _vary(values: Float[np.ndarray, "*#R N"], counts: Float[np.ndarray, "*#R N"]) -> Bool[np.ndarray, "*R"]:
    """Whether the values that are taken at all differ. Their spread would not do: rounding leaves it above 0."""
    taken = counts > 0
    return np.asarray(np.where(taken, values, -np.inf).max(-1) > np.where(taken, values, np.inf).min(-1))


def _ranks(values: Float[np.ndarray, " N"], counts: Float[np.ndarray, "*R N"]) -> Float[np.ndarray, "*R N"]:
    """The mean rank of each value among all that are taken."""
    distinct, place = np.unique(values, return_inverse=True)
    taken = counts @ np.eye(len(distinct))[place]
    return (np.cumsum(taken, -1) - (taken - 1) / 2)[..., place]
