"""Measurements that several claims about the synthetic tasks share, and the conditions on them."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float

from synthlab.analysis.series import plain_label
from synthlab.numbers.run import NumbersRun
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence

LEVEL = 1e-5  # NoPE's error on the mean task, by the paper (appendix F): smaller errors count as this one
NEAR = 100.0  # an error this many times smaller is "far under", one this many times larger "explodes"


def _best_constant(evidence: Evidence, name: str) -> Float[np.ndarray, " L"]:
    """Return the error of always predicting 1/2 on the mean task, at each length: the variance of the mean.

    With independent symbols of probability p it is p (1 - p) / l; with K ones, K uniform on 0..l, it is
    Var(K) / l^2 = (l + 2) / (12 l).
    """
    config = cast(NumbersRun, evidence.config(name))  # figures have no other kind of runs
    l = np.arange(1, config.test_length + 1)  # noqa: E741 the paper's name for the length
    if config.inputs["name"] == "uniform_count":
        return (l + 2) / (12 * l)
    p = config.inputs["p"]
    return p * (1 - p) / l


def check_under_constant(evidence: Evidence, name: str) -> Check:
    """Check that no length has an error near that of the best constant prediction."""
    against = evidence.errors(name).div(_best_constant(evidence, name), axis="columns").max(axis="columns").to_numpy()
    what = f"{plain_label(name)}: error / best constant's, largest"
    return Check(what, against, high=1 / NEAR, series=(name,))


def rise(evidence: Evidence, name: str, low: float = -np.inf, high: float = np.inf) -> Check:
    """Check how far the error rises beyond training, from the paper's level on: a lower error within is no fault."""
    what = f"{plain_label(name)}: largest error beyond training / within ({LEVEL:g} at least)"
    return Check(what, evidence.rise(name, LEVEL), low, high, series=(name,))


def explodes(evidence: Evidence, name: str) -> Check:
    """Check that the error beyond training is many times that within."""
    what = f"{evidence.config(name).task['name']}, {plain_label(name)}: largest error beyond training / within"
    return Check(what, evidence.rise(name), low=NEAR, series=(name,))


def keeps_rising(evidence: Evidence, name: str) -> Check:
    """Check that the error grows from each third of the lengths beyond training to the next."""
    what = f"{evidence.config(name).task['name']}, {plain_label(name)}: error in a third beyond training / in the next"
    return Check(what, evidence.trend(name), high=1.0, series=(name,))


def check_better(evidence: Evidence, names: Sequence[str], others: Sequence[str], high: float = 1.0) -> list[Check]:
    """Check that the error of each of ``names`` is less than ``high`` times that of each of ``others``."""
    return [
        Check(
            f"{plain_label(name)} / {plain_label(other)}",
            evidence.ratio(name, other),
            high=high,
            series=(name, other),
        )
        for name in names
        for other in others
    ]
