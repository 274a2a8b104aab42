"""Power: how small a lead of one predictor over another a study can find, and how many independent witnesses it takes.

A lead is found where its 95 % interval lies above 0. Its standard error is taken from the longer arm of the measured
interval, and goes down with the square root of the number of witnesses. Simulated, leads are found as often as is said
here, or more often. Of few witnesses, such as seven, the error itself is known to a factor of two at best.
"""

from statistics import NormalDist
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from synthlab.analysis.correlations import LEAST_GROUPS, Correlation, student

Lead = Annotated[float, Field(gt=0, lt=1)]
OFTEN = 0.8  # the share of studies that are to find what there is
MOST = 10_000  # witnesses


class DetectionPower(NamedTuple):
    """Of ``number`` witnesses: the share of such studies that find a certain lead, the ``smallest`` lead that they find
    in four studies of five, and how many witnesses it takes to find that certain lead so often; NaN where that is not
    known, or more than 10,000."""

    found: float
    smallest: float
    needed: float


def power(measured: Correlation, number: int, lead: float) -> DetectionPower:
    """What a study that ``measured`` a lead with ``number`` witnesses can find of a ``lead``."""
    reach = max(measured.value - measured.low, measured.high - measured.value)
    if not reach > 0:
        return DetectionPower(np.nan, np.nan, np.nan)
    normal, error = NormalDist(), reach / student(number - 1)

    def smallest(witnesses: int) -> float:
        return (student(witnesses - 1) + normal.inv_cdf(OFTEN)) * error * np.sqrt(number / witnesses)

    needed = next((float(n) for n in range(LEAST_GROUPS, MOST + 1) if smallest(n) <= lead), np.nan)
    return DetectionPower(1 - normal.cdf(student(number - 1) - lead / error), float(smallest(number)), needed)
