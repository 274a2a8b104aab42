"""Shares of right answers, with intervals; and the horizon."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Z = 1.959963984540054  # of the standard normal distribution, two-sided 95 %


class Proportion(NamedTuple):
    """A share with its 95 % interval, from ``low`` to ``high``."""

    value: float
    low: float
    high: float


def wilson(value: float, count: int) -> Proportion:
    """The mean ``value`` of ``count`` independent numbers between 0 and 1, with Wilson's 95 % interval (Wilson, 1927,
    JASA 22).

    For numbers that are 0 or 1 it is that of a proportion. For others it is too wide rather than too narrow, since
    their variance is at most that of a proportion with the same mean.

    Example:
        >>> from synthlab.sequences.proportions import wilson
        >>> [round(number, 3) for number in wilson(1.0, 25)]  # 25 of 25 leave room for 87 %
        [1.0, 0.867, 1.0]
    """
    shrink = 1 + Z**2 / count
    centre = (value + Z**2 / (2 * count)) / shrink
    reach = Z / shrink * math.sqrt(value * (1 - value) / count + Z**2 / (4 * count**2))
    # The ends of 0 and 1 are exact but for rounding.
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return Proportion(value, 0.0 if value == 0 else low, 1.0 if value == 1 else high)


def horizon(lengths: Sequence[int], exact: Sequence[float], threshold: float) -> int:
    """The greatest of ``lengths``, which increase, up to which all have an exact match of at least ``threshold``; 0 if
    the first has not.

    Example:
        >>> from synthlab.sequences.proportions import horizon
        >>> horizon([2, 4, 6, 8], [1.0, 0.95, 0.5, 1.0], threshold=0.9)
        4
    """
    reached = 0
    for length, value in zip(lengths, exact, strict=True):
        if not value >= threshold:
            break
        reached = length
    return reached
