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
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

FIRST = 5  # the fewest values that can decide a check with COVERAGE, if all agree
COVERAGE = 0.9  # of the intervals that decide, over all looks together
CONVINCING = 20.0  # an e-value that chance reaches at most once in 20
# Share of the stake such that five of five values in two of three checks convince: 5 seeds are the fewest, and often
# all.
ON_ALL = 15 / 16


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

    @property
    def evidence(self) -> float:
        """The evidence of an interval that lies inside, or outside, of the range.

        A stake of ``ON_ALL`` is bet on that, at one over the probability to miss on one side.
        """
        return ON_ALL * 2 / (1 - self.interval.coverage)


def median_interval(values: Float[np.ndarray, " n"]) -> ConfidenceInterval:
    """Return the interval from the k-th least to the k-th greatest of ``values``, with k of ``boundary``.

    It is NaN with coverage 0 if there are no values, or one is NaN. ``coverage`` is the probability that this interval
    and all those of fewer values, down to five, contain the median of the values' distribution, whatever the
    distribution. With fewer than five values it is that of the one interval, from least to greatest.
    """
    n = len(values)
    if n == 0 or np.isnan(values).any():
        return ConfidenceInterval(np.nan, np.nan, 0.0)
    k, crossed = boundary(n)
    ordered = np.sort(values)
    return ConfidenceInterval(float(ordered[k - 1]), float(ordered[n - k]), 1 - 2 * crossed)


def may_spend(n: int) -> float:
    """Return the largest probability of a wrong decision, on one side, at any number of values from five to ``n``."""
    first = 0.5**FIRST
    return first + ((1 - COVERAGE) / 2 - first) * (1 - FIRST / n)


@cache
def boundary(n: int) -> tuple[int, float]:
    """Return k for ``n`` values, and the probability of a wrong decision on one side with five to ``n`` values.

    A decision is wrong if, for a median at the threshold and some m of these numbers, fewer than k(m) of m values lie
    on the wrong side.
    """
    if n < FIRST:
        return 1, 0.5**n
    wrong = np.array([comb(FIRST, w) for w in range(FIRST + 1)]) / 2**FIRST  # [n + 1] by the number of wrong values
    k, crossed = 0, 0.0
    for m in range(FIRST, n + 1):
        if m > FIRST:
            wrong = (np.append(wrong, 0.0) + np.append(0.0, wrong)) / 2
        while crossed + wrong[k] <= may_spend(m):
            crossed += float(wrong[k])
            wrong[k] = 0.0
            k += 1
    return k, crossed


def evidence(agreeing: int, number: int) -> float:
    """Return the evidence that a median lies on the side on which ``agreeing`` of ``number`` values lie: an e-value.

    If the median lies on the other side, its expected value is at most 1, whenever one stops adding values. The same is
    true of the mean of such numbers, however they depend on one another. So that mean reaches ``CONVINCING`` at most
    once in 20 (J. Ville, 1939; V. Vovk and R. Wang, Annals of Statistics 49, 2021).

    It is the value of a stake of 1 after a bet on each value at fair odds: ``ON_ALL`` of it on all values agreeing, the
    rest spread evenly over all shares of agreeing values from one half to 1.
    """
    beyond_half = sum(comb(number + 1, w) for w in range(agreeing + 1)) / 2 ** (number + 1)
    spread = 2.0 ** (number + 1) / ((number + 1) * comb(number, agreeing)) * beyond_half
    return ON_ALL * 2.0**number * (agreeing == number) + (1 - ON_ALL) * spread
