from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.claims import CLAIMS
from support.records import record
from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.evidence import Evidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate, evidence
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
        ({"low": 0.76, "centre": None}, (0.76, INFINITY), (0.76, INFINITY)),
    ],
)
def test_half_and_twice_by_hand(how, half, twice):
    first = check([1.0], **how)
    for factor, bounds in ((0.5, half), (2.0, twice)):
        assert (first.at(factor).low, first.at(factor).high) == bounds


def seeds(wrong: int, number: int = 5, **how) -> Check:
    """A check that so many of the seeds do not fulfil."""
    return Check("x", np.repeat([-1.0, 1.0], [wrong, number - wrong]), low=0.0, **how)


def judged_on(*checks: Check) -> Verdict:
    return Verdict(CLAIMS["1a"], "Figure 1", list(checks), [])


HOLDS, OPEN, FAILS = seeds(0), seeds(2), seeds(5)
TEN = seeds(10, 10)  # all on the wrong side
UNTESTED = FAILS._replace(untested="none of the runs fits")


def estimated(low: float, high: float, coverage: float = 0.95) -> Check:
    """A check that what lies from ``low`` to ``high`` is 0 or more."""
    estimate = GroupEstimate(ConfidenceInterval(low, high, coverage), 7, "runs")
    return check([(low + high) / 2], low=0.0, estimate=estimate)


@pytest.mark.parametrize(
    ("checks", "word"),
    [
        ([HOLDS] * 12, "holds"),
        ([seeds(3, 3), HOLDS, OPEN], "few seeds"),
        ([seeds(3, 3), FAILS, FAILS], "does not hold"),  # five of five in two checks of three
        ([FAILS], "does not hold"),
        ([FAILS, OPEN], "undecided"),  # five of five: 30.66 in one check, in one of two 15.4 on average
        ([FAILS, HOLDS], "undecided"),
        ([FAILS, FAILS, OPEN], "does not hold"),  # 20.5
        ([FAILS, FAILS, HOLDS], "mixed"),
        ([FAILS, FAILS, FAILS, HOLDS, HOLDS], "undecided"),  # 18.4
        ([*[FAILS] * 8, *[OPEN] * 4], "does not hold"),
        ([HOLDS] * 11 + [OPEN], "undecided"),
        ([TEN, HOLDS], "mixed"),  # 972 in one of two; five of five in one of two support nothing
        ([seeds(19, 20), *[OPEN] * 11], "does not hold"),  # 19 of 20: 312 in one of twelve
        ([seeds(16, 20), *[OPEN] * 11], "undecided"),  # it fails, too
    ],
)
def test_words_follow_from_mean_evidence(checks, word):
    assert judged_on(*checks).word == word


@pytest.mark.parametrize(
    ("checks", "word"),
    [
        ([UNTESTED], "not tested"),
        ([UNTESTED, HOLDS], "undecided"),  # the claim says that all are true
        ([UNTESTED, FAILS], "undecided"),  # an untested check is no evidence, and counts in the mean
        ([UNTESTED, FAILS, FAILS], "does not hold"),
    ],
)
def test_what_is_not_tested_neither_holds_nor_fails(checks, word):
    assert (UNTESTED.answer, UNTESTED.refutation) == ("not tested", 0)
    found = judged_on(*checks)
    assert found.word == word
    assert not any(each.untested for each in found.open_checks)  # no more seeds would decide it


def test_witnesses_of_an_undecided_claim():
    assert judged_on(seeds(0, 3), OPEN).witnesses == Witnesses(3)  # it has no verdict for its three seeds
    assert judged_on(seeds(0, 6), OPEN).witnesses == Witnesses(5)
    assert judged_on(HOLDS, UNTESTED).witnesses == Witnesses(0)


def test_intervals_are_evidence_too():
    beside, within, across = estimated(-2.0, -1.0), estimated(1.0, 2.0), estimated(-1.0, 1.0)
    assert [each.answer for each in (beside, within, across)] == ["fails", "holds", "undecided"]
    assert judged_on(beside).word == judged_on(beside, beside).word == "does not hold"
    assert judged_on(beside, across).word == judged_on(beside, within).word == "undecided"  # 37.5 in one of two
    assert judged_on(beside, beside, across).word == "does not hold"


def test_of_a_range_with_two_ends_both_sides_are_bet_on():
    band = check([3.0] * 5, low=1.0, high=2.0)
    assert band.answer == "fails"
    assert band.refutation == pytest.approx((evidence(5, 5) + evidence(0, 5)) / 2)
    assert check([3.0] * 5, high=2.0).refutation == evidence(5, 5)
    assert check([np.nan, *[3.0] * 5], high=2.0).refutation == evidence(5, 5)  # NaN is missing


def test_open_checks_are_those_that_may_change_the_verdict():
    near = check([0.9] * 5, high=1.0)  # it fails at half the threshold
    far, failing = check([0.1] * 5, high=1.0), check([9.0] * 5, high=1.0)
    assert judged_on(far, near).open_checks == [near]
    assert judged_on(far, failing).open_checks == [failing]  # decided itself, and one of two refutes nothing
    assert judged_on(failing, failing).open_checks == []
    assert judged_on(far, estimated(-1.0, 1.0)).open_checks[0].estimate is not None


def test_thresholds_of_a_comparison():
    for value, decided in ((0.4, True), (0.9, False), (1.1, False), (2.5, True)):
        ratio = check([value] * 5, high=1.0, compares=True)
        assert ratio.is_enough_for_auto == decided
        assert ratio.answer in ("holds", "fails")  # five of five decide, whatever the threshold
        assert (ratio.scales, ratio.at(0.5), ratio.at(2.0)) == (False, ratio, ratio)
    assert not check([0.4] * 5, high=1.0, centre=1.0, compares=True).is_enough_for_auto  # it has no other threshold


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


def test_verdicts_on_runs_that_fit():
    runs = [*(trained(seed, 0.1, 0.5) for seed in range(5)), trained(5, 0.2, 0.5), trained(6, 0.3, 7.0)]
    lost = record(7, diverged_at=5)
    a, b = [*runs, lost], runs[:5]
    assert fit_of({"a": 0.2, "b": 0.1}, a=a, b=b) == Fit(13, 1, 11, "holds", Witnesses(5))
    assert fit_of({"a": 0.3, "b": 0.1}, a=a, b=b) == Fit(13, 1, 12, "undecided", Witnesses(7))
    assert fit_of({"a": 0.3, "b": 0.1}, a=a, b=b[:3]) == Fit(11, 1, 10, "few seeds", Witnesses(3))
    assert fit_of({"a": 0.3, "b": 0.01}, a=a, b=b) == Fit(13, 1, 7, "not tested", Witnesses(0))  # none of b's fits
    assert fit_of(None, a=a, b=b) is None


def test_runs_of_several_panels_are_counted_together():
    first, second = (Evidence({"a": [trained(seed, 0.1, 0.5)]}, {"a": level}) for seed, level in ((0, 0.1), (1, 0.01)))
    claims = (["small"], ["small"], [])
    grounds = [Grounds(names, each, each.fitting()) for names, each in zip(claims, (first, second, first), strict=True)]
    [verdict] = judge(SMALL.values(), "Figure 1", grounds)
    assert verdict.fit == Fit(2, 0, 1, "not tested", Witnesses(1))
