import numpy as np
import pytest

from experiments.output_alignment.claims import CLAIMS
from synthlab.studies.verdicts import Check, Verdict

INFINITY = float("inf")


def check(values, **how) -> Check:
    return Check("x", np.array(values, dtype=float), **how)


@pytest.mark.parametrize(
    ("how", "half", "twice"),
    [
        ({"high": 3.0}, (-INFINITY, 1.5), (-INFINITY, 6.0)),
        ({"low": -0.02}, (-0.01, INFINITY), (-0.04, INFINITY)),
        ({"low": -0.01, "high": 0.01}, (-0.005, 0.005), (-0.02, 0.02)),
        ({"low": 1.75, "high": 2.25, "centre": 2.0}, (1.875, 2.125), (1.5, 2.5)),
        ({"low": 30, "centre": 10}, (20, INFINITY), (50, INFINITY)),
    ],
)
def test_half_and_twice_a_threshold_are_counted_from_its_centre(how, half, twice):
    first = check([1.0], **how)
    for factor, bounds in ((0.5, half), (2.0, twice)):
        assert (first.at(factor).low, first.at(factor).high) == bounds
    assert first.scales
    back = first.at(2.0).at(0.5)
    assert (back.low, back.high) == (first.low, first.high)


@pytest.mark.parametrize("how", [{"low": 0.0}, {"low": 0.76, "centre": None}, {"high": 2.0, "centre": 2.0}, {}])
def test_some_thresholds_have_no_other(how):
    first = check([1.0], **how)
    assert not first.scales
    assert (first.at(0.5).low, first.at(2.0).high) == (first.low, first.high)


def test_a_verdict_is_judged_anew_where_its_thresholds_lie():
    ratio, gain = check([0.6, 0.7], high=1.0), check([0.1, 0.2], low=0.0)
    verdict = Verdict(CLAIMS["1a"], "Figure 1", [ratio, gain], [])
    assert [verdict.at(factor).word for factor in (0.5, 1.0, 2.0)] == ["holds in part", "holds", "holds"]
    assert [check.answer for check in verdict.at(0.5).checks] == ["fails", "holds"]
    assert verdict.scales
    assert not verdict._replace(checks=[gain]).scales
