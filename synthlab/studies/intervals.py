"""Intervals of a median that stay valid in sequential testing: a sign test with a boundary for every sample size.

Under the boundary case each new value lies on the wrong side of the threshold with probability 1/2. A check decides
wrongly when, at some number of values n, fewer than k(n) lie on the wrong side. k(n) is the largest number for which
the probability that this has happened at any n so far stays within ``may_spend(n)``. That probability is exact: the
distribution of the number of wrong values, among the sequences that have decided nothing yet, goes from n to n + 1. So
the error rate is that of all looks together, whatever the numbers of values and the reason to stop.

Five of five values on one side decide, at 1/32. What remains up to 1/20 is spent as 1 - 5 / n: after looks at 5, 10, 15
and 20 values, each on the right side with probability 0.8 (0.9), a check has decided with probability 0.70 (0.97).
Spent as log(n / 5) / log 16 it is 0.69 (0.97), spent as soon as can be 0.59 (0.92). A boundary for these four looks
alone would reach 0.74, but would be invalid for a look at 9 values, after a run has diverged. Spending functions:
K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983).
"""

from functools import cache
from math import ceil, comb, log2
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

FIRST = 5  # the fewest values that decide a check, if all agree
LEVEL = 0.05  # how often an interval may miss the median on one side, over all looks together


class ConfidenceInterval(NamedTuple):
    """An interval from ``low`` to ``high`` that contains the true median with at least the probability ``coverage``."""

    low: float
    high: float
    coverage: float


class GroupEstimate(NamedTuple):
    """An interval that does not come from one value for each seed, such as that of a correlation over models.

    It rests on ``number`` independent units; ``of`` names them, for example settings or encodings.
    """

    interval: ConfidenceInterval
    number: int
    of: str


def first_look(level: float) -> int:
    """Return the fewest values that decide at an error rate of ``level`` on one side, if all agree."""
    return max(FIRST, ceil(-log2(level)))


def median_interval(values: Float[np.ndarray, " n"], level: float = LEVEL) -> ConfidenceInterval:
    """Return the interval from the k-th least to the k-th greatest of ``values``, with k of ``boundary``.

    It is NaN with coverage 0 if there are no values, or one is NaN. ``coverage`` is the probability that this interval
    and all those of fewer values, down to ``first_look``, contain the median of the values' distribution, whatever the
    distribution. With fewer values it is that of the one interval, from least to greatest.
    """
    n = len(values)
    if n == 0 or np.isnan(values).any():
        return ConfidenceInterval(np.nan, np.nan, 0.0)
    k, crossed = boundary(n, level)
    ordered = np.sort(values)
    return ConfidenceInterval(float(ordered[k - 1]), float(ordered[n - k]), 1 - 2 * crossed)


def may_spend(n: int, level: float = LEVEL) -> float:
    """Return the largest probability of a wrong decision, on one side, at any number of values up to ``n``."""
    first = first_look(level)
    return 0.5**first + (level - 0.5**first) * (1 - first / n)


@cache
def boundary(n: int, level: float = LEVEL) -> tuple[int, float]:
    """Return k for ``n`` values, and the probability of a wrong decision on one side with at most ``n`` values.

    A decision is wrong if, for a median at the threshold and some m from ``first_look`` on, fewer than k(m) of m values
    lie on the wrong side.
    """
    first = first_look(level)
    if n < first:
        return 1, 0.5**n
    wrong = np.array([comb(first, w) for w in range(first + 1)]) / 2**first  # [n + 1] by the number of wrong values
    k, crossed = 0, 0.0
    for m in range(first, n + 1):
        if m > first:
            wrong = (np.append(wrong, 0.0) + np.append(0.0, wrong)) / 2
        while crossed + wrong[k] <= may_spend(m, level):
            crossed += float(wrong[k])
            wrong[k] = 0.0
            k += 1
    return k, crossed
