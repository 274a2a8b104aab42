"""Intervals of shares of right answers."""

import math

Z = 1.959963984540054  # of the standard normal distribution, two-sided 95 %


def wilson(value: float, count: int) -> tuple[float, float, float]:
    """Return the mean ``value`` of ``count`` independent numbers between 0 and 1, and the lower and upper end of its
    95 % interval (Wilson, 1927, JASA 22).

    It is too wide rather than too narrow for numbers other than 0 and 1.

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
    return value, 0.0 if value == 0 else low, 1.0 if value == 1 else high
