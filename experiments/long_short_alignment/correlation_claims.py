"""Checks on which quantities correlate with the loss or error on longer inputs, over models."""

import numpy as np
import pandas as pd

from experiments.correlations import (
    COVERAGE,
    LEAST_GROUPS,
    WITNESSES,
    Correlation,
    lead,
    widen_by_leaving_out,
)
from experiments.long_short_alignment.run_table import WITHIN
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate

ALIKE = ("setting", "seed")  # models with equal values in these are trained alike
DISTANCES = {"sce": "misalignment", "excess": "misalignment beyond entropy"}


def check_estimate(runs: pd.DataFrame, what: str, found: Correlation, of: str, low: float) -> Check:
    """Return a check on a correlation whose interval rests on independent units, ``of`` the ``runs``.

    Raises NoEvidence if these are too few for an interval.
    """
    number = int(runs[WITNESSES[of]].nunique())
    if number < LEAST_GROUPS:
        raise NoEvidence(f"{number} {of} are too few for an interval: it takes {LEAST_GROUPS}")
    if np.isnan(found.low):
        raise NoEvidence("a quantity is not finite, or does not vary over the models")
    estimate = GroupEstimate(ConfidenceInterval(found.low, found.high, COVERAGE), number, of)
    return Check(what, np.array([found.value]), low=low, estimate=estimate)


def check_lead(runs: pd.DataFrame, x: str, name: str, y: str, of: str) -> Check:
    """Return a check that ``x`` correlates more strongly with ``y`` than the training loss does.

    It compares models that are trained alike; ``name`` is the name of ``x``. Raises NoEvidence as ``check_estimate``
    does.
    """
    first, other = f"{x}{WITHIN}", f"loss_1x{WITHIN}"
    value = widen_by_leaving_out(runs, [first, other, y], of, ALIKE, lambda rows, by: lead(rows, first, other, y, by))
    return check_estimate(runs, f"{name}, {describe_units(of)}: less that of the training loss", value, of, low=0.0)


def describe_units(of: str) -> str:
    """Return the words for the units that an interval rests on."""
    return f"over {of}" if of == "encodings" else f"over {of}, whichever encoding is left out"


OUTCOMES = {
    "P1": ("loss_4x", "loss after 3 to 4 training lengths"),
    "P2": ("recall_error_4x", "share of facts not recalled in texts of four training lengths"),
    "P3": (
        "needle_error_4x",
        "share of single facts, surrounded by filler, that are not recalled in texts of four training lengths",
    ),
    "P4": ("tracking_error_4x", "share of linked facts not recalled in texts of four training lengths"),
}
