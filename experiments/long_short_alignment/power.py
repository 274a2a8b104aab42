"""Power: how small a lead of one predictor over another a study can find, and how many independent models it takes.

Simulated: models are drawn from the normal distribution in which the two predictors and the outcome correlate as
measured, but for the lead, which is set. A lead is found where its 95 % interval lies above 0.
"""

from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from experiments.long_short_alignment.correlations import difference, jackknife, pearson

Lead = Annotated[float, Field(gt=0, lt=1)]
DRAWS = 200
OFTEN = 0.8  # the share of studies that are to find what there is
LEADS = np.arange(0.05, 1, 0.05)
NUMBERS = (7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320)
INSIDE = 0.999  # of the bounds within which three correlations go together: on them, one quantity follows from two


class Measured(NamedTuple):
    """Correlations of the ``other`` predictor with the outcome, and ``between`` the two predictors."""

    other: float
    between: float

    @classmethod
    def among(cls, rows: pd.DataFrame, x: str, other: str, outcome: str, witness: str) -> "Measured":
        """Those of the means over each ``witness``."""
        together = rows.groupby(witness)[[x, other, outcome]].mean().corr().to_numpy()
        return cls(float(together[1, 2]), float(together[0, 1]))


def found(measured: Measured, lead: float, number: int) -> float:
    """The share of studies of ``number`` independent models that find a ``lead``; NaN where there can be none."""
    other, first = measured.other, measured.other + lead
    if not abs(first) < 1 or not abs(other) < 1:
        return np.nan
    room = INSIDE * np.sqrt((1 - first**2) * (1 - other**2))
    between = np.clip(measured.between, first * other - room, first * other + room)
    root = np.linalg.cholesky([[1, between, first], [between, 1, other], [first, other, 1]])
    drawn = np.random.default_rng(0).standard_normal((DRAWS, number, 3)) @ root.T
    of = jackknife([drawn[..., 0], drawn[..., 1]], drawn[..., 2], np.arange(number), pearson)
    return float(np.mean(difference(of)[1] > 0))


def smallest(measured: Measured, number: int) -> float:
    """The smallest lead that is found often by ``number`` models; NaN where none is."""
    return next((float(lead) for lead in LEADS if found(measured, lead, number) >= OFTEN), np.nan)


def needed(measured: Measured, lead: float) -> float:
    """How many models find a ``lead`` often; NaN where more than the largest of ``NUMBERS`` are needed, or none do."""
    return next((float(number) for number in NUMBERS if found(measured, lead, number) >= OFTEN), np.nan)
