from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.claims import CLAIMS
from support.records import record
from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Claims, Fit, Grounds, Verdict, judge

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


SMALL = Claims[Evidence]()


@SMALL.claim("small", where="here", statement="The error is small.", quantity="error", why="it must be")
def small(evidence: Evidence) -> list[Check]:
    return [Check(name, evidence.errors(name).max(axis="columns").to_numpy(), high=1.0) for name in evidence.names]


def trained(seed: int, loss: float, error: float):
    blank = record(seed)
    training = pd.DataFrame({"step": [10, 20], "loss": [1.0, loss]})
    return replace(blank, metrics=blank.metrics.assign(mse=error), training=training)


def fit_of(levels, **series) -> Fit | None:
    evidence = Evidence(series, levels)
    [verdict] = judge(SMALL.values(), "Figure 1", [Grounds(["small"], evidence, evidence.fitting())])
    return verdict.fit


def test_a_verdict_is_judged_on_the_runs_that_fit_alone_too():
    runs = [trained(0, 0.1, 0.5), trained(1, 0.2, 0.5), trained(2, 0.3, 7.0)]
    lost = record(3, diverged_at=5)
    a, b = [*runs, lost], runs[:1]
    assert fit_of({"a": 0.2, "b": 0.1}, a=a, b=b) == Fit(5, 1, 3, "holds", Witnesses(1))
    assert fit_of({"a": 0.3, "b": 0.1}, a=a, b=b) == Fit(5, 1, 4, "undecided", Witnesses(3))
    assert fit_of({"a": 0.3, "b": 0.01}, a=a, b=b) == Fit(5, 1, 3, "not judged", Witnesses(0))  # none of b's fits
    assert fit_of(None, a=a, b=b) is None


def test_runs_of_several_panels_are_counted_together():
    first, second = (Evidence({"a": [trained(seed, 0.1, 0.5)]}, {"a": level}) for seed, level in ((0, 0.1), (1, 0.01)))
    claims = (["small"], ["small"], [])
    grounds = [Grounds(names, each, each.fitting()) for names, each in zip(claims, (first, second, first), strict=True)]
    [verdict] = judge(SMALL.values(), "Figure 1", grounds)
    assert verdict.fit == Fit(2, 0, 1, "not judged", Witnesses(1))
