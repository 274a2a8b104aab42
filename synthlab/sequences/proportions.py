"""Confidence intervals of proportions."""

import math

Z = 1.959963984540054  # quantile of the standard normal distribution, two-sided 95 %


def wilson(value: float, count: int) -> tuple[float, float, float]:
    """Return the mean ``value`` of ``count`` independent numbers between 0 and 1, and the ends of its 95 % interval.

    Source: Wilson, 1927, JASA 22. The interval is too wide rather than too narrow for numbers other than 0 and 1.

    Example:
        >>> from synthlab.sequences.proportions import wilson
        >>> [round(number, 3) for number in wilson(1.0, 25)]  # 25 of 25 leave room for 87 %
        [1.0, 0.867, 1.0]
    """
    shrink = 1 + Z**2 / count
    centre = (value + Z**2 / (2 * count)) / shrink
    reach = Z / shrink * math.sqrt(value * (1 - value) / count + Z**2 / (4 * count**2))
    # For a mean of 0 or 1 one end is exact: remove its rounding error.
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return value, 0.0 if value == 0 else low, 1.0 if value == 1 else high
