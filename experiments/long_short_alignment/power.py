"""Power: the smallest detectable lead of one predictor over another, and the required number of independent units.

A lead is detected if its 95 % interval lies above 0. Its standard error is taken from the longer arm of the measured
interval, and decreases with the square root of the number of units. In simulations, leads are detected at least as
often as stated here. With few units, such as seven, the error itself is known to a factor of two at best.
"""

from statistics import NormalDist
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from experiments.correlations import LEAST_GROUPS, Correlation, student

Lead = Annotated[float, Field(gt=0, lt=1)]
OFTEN = 0.8  # the required power
MOST = 10_000  # the most units


class DetectionPower(NamedTuple):
    """The power of studies with ``number`` independent units.

    It has the share of such studies that detect a certain lead; the ``smallest`` lead that they detect in four studies
    of five; and the number of units to detect that certain lead so often. NaN if unknown, or more than 10,000.
    """

    found: float
    smallest: float
    needed: float


def power(measured: Correlation, number: int, lead: float) -> DetectionPower:
    """Return the power to detect a ``lead``, given a ``measured`` lead with ``number`` units."""
    reach = max(measured.value - measured.low, measured.high - measured.value)
    if not reach > 0:
        return DetectionPower(np.nan, np.nan, np.nan)
    normal, error = NormalDist(), reach / student(number - 1)

    def smallest(sample_size: int) -> float:
        return (student(sample_size - 1) + normal.inv_cdf(OFTEN)) * error * np.sqrt(number / sample_size)

    needed = next((float(n) for n in range(LEAST_GROUPS, MOST + 1) if smallest(n) <= lead), np.nan)
    return DetectionPower(1 - normal.cdf(student(number - 1) - lead / error), float(smallest(number)), needed)
