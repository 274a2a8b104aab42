"""Sources of the variance of runs: components of variance in a crossed design of seeds.

Runs are crossed in factors, such as the seeds of initial weights, of training data and of test sequences, one run for
each combination. The value of a run is modelled as a mean plus a random effect of each set S of factors: of weights
alone, of weights and data together, ... All effects are independent, those of S of variance v(S). The mean square of S
then has the expectation

    E[MS(S)] = sum over all T that contain S of n(T) v(T),

where n(T) is the number of combinations of the factors that are not in T. So

    n(S) v(S) = sum over all T that contain S of (-1)^(|T| - |S|) E[MS(T)],

which estimates v(S) without bias from mean squares (Searle, Casella and McCulloch, Variance Components, 1992, chapter
4: balanced data). The component of all factors together also includes whatever else differs from run to run.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Factors = tuple[int, ...]  # a set of the axes of the design, ascending
COVERAGE = 0.9  # of intervals
DRAWS = 10_000  # number of draws for each interval


class MeanSquare(NamedTuple):
    """A mean square and its degrees of freedom."""

    value: float
    degrees: int


class VarianceShare(NamedTuple):
    """A share of the total variance, and the interval that covers the true one."""

    value: float
    low: float
    high: float


NONE = VarianceShare(math.nan, math.nan, math.nan)


def mean_squares(values: Float[np.ndarray, "..."]) -> dict[Factors, MeanSquare]:
    """Return the mean square of every non-empty set of factors.

    ``values`` has an axis for each factor, with two levels or more.
    """
    found: dict[Factors, MeanSquare] = {}
    for factors in _sets(values.ndim):
        effect = values
        for axis in range(values.ndim):
            mean = effect.mean(axis, keepdims=True)
            effect = effect - mean if axis in factors else mean
        degrees = math.prod(values.shape[axis] - 1 for axis in factors)
        squares = float((effect**2).sum()) * _combinations(factors, values.shape)
        found[factors] = MeanSquare(squares / degrees, degrees)
    return found


def components(squares: Mapping[Factors, Float[np.ndarray, " N"]], sizes: Sequence[int]) -> Float[np.ndarray, "S N"]:
    """Return the components of variance for each of N sets of mean squares ``squares``.

    There is a row for each set of factors, in their order; ``sizes`` has the number of levels of each factor. An
    estimate can be negative.
    """
    rows = [
        sum((-1) ** (len(other) - len(factors)) * squares[other] for other in squares if set(factors) <= set(other))
        / _combinations(factors, sizes)
        for factors in squares
    ]
    return np.array(rows)


def share_variance(
    values: Float[np.ndarray, "..."], groups: Mapping[str, Sequence[Factors]]
) -> tuple[dict[str, VarianceShare], float]:
    """Return the share of each of ``groups``, sets of factors by name, in the variance over new runs.

    All levels of new runs are drawn anew. Also return the standard deviation over such runs. Components below 0 count
    as 0. Equal values have no shares: NaN.

    Intervals are generalized confidence intervals (Weerahandi, Generalized Confidence Intervals, JASA 1993) for normal
    effects: a mean square times its degrees of freedom, over its expectation, is then chi-squared. So draws of
    chi-squared numbers give draws of expectations, of components and of shares; the interval is the middle 90 % of
    these. The same values give the same interval. In simulated designs of 5 x 5 x 3 levels they covered 87 to 99 %.
    """
    if not np.ptp(values):
        return dict.fromkeys(groups, NONE), 0.0
    found, generator = mean_squares(values), np.random.default_rng(0)
    drawn = {factors: np.full(1 + DRAWS, square.value) for factors, square in found.items()}
    for factors, (_, degrees) in found.items():
        drawn[factors][1:] *= degrees / generator.chisquare(degrees, DRAWS)
    variances = components(drawn, values.shape).clip(min=0)
    total, order, result = variances.sum(0), list(found), {}
    for name, group in groups.items():
        estimate, *draws = variances[[order.index(factors) for factors in group]].sum(0) / total
        low, high = np.quantile(draws, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
        result[name] = VarianceShare(float(estimate), float(low), float(high))
    return result, math.sqrt(total[0])


def _sets(number: int) -> list[Factors]:
    return list(chain.from_iterable(combinations(range(number), size) for size in range(1, number + 1)))


def _combinations(factors: Factors, sizes: Sequence[int]) -> int:
    """Count the runs that share one level of each of ``factors``."""
    return math.prod(size for axis, size in enumerate(sizes) if axis not in factors)
