from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.claims import CLAIMS
from support.records import record
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate
from synthlab.studies.verdicts import ClaimData, Claims, Fit, Verdict, count_answers, judge


def check(values, **how) -> Check:
    return Check("x", np.array(values, dtype=float), **how)


def seeds(wrong: int, number: int = 5, **how) -> Check:
    """A check that so many of the seeds do not fulfil."""
    return Check("x", np.repeat([-1.0, 1.0], [wrong, number - wrong]), low=0.0, **how)


def judged_on(*checks: Check) -> Verdict:
    return Verdict(CLAIMS["1a"], "Figure 1", list(checks), [])


HOLDS, OPEN, FAILS = seeds(0), seeds(2), seeds(5)
UNTESTED = FAILS._replace(untested="none of the runs fits")
FEW = seeds(3, 3)


def estimated(low: float, high: float, coverage: float = 0.95) -> Check:
    """A check that what lies from ``low`` to ``high`` is 0 or more."""
    estimate = GroupEstimate(ConfidenceInterval(low, high, coverage), 7, "runs")
    return check([(low + high) / 2], low=0.0, estimate=estimate)


@pytest.mark.parametrize(
    ("checks", "word"),
    [
        ([HOLDS] * 12, "holds"),
        ([HOLDS] * 11 + [OPEN], ""),
        ([FAILS] * 12, "fails"),
        ([FAILS, HOLDS], ""),  # one of two takes six seeds
        ([seeds(6, 6), HOLDS], "fails in part"),
        ([seeds(6, 6), HOLDS, HOLDS, OPEN], ""),  # one of four takes seven
        ([seeds(7, 7), HOLDS, HOLDS, OPEN], "fails in part"),
        ([seeds(8, 8), *[OPEN] * 11], "fails in part"),
        ([seeds(8, 8), *[OPEN] * 12], ""),
        ([seeds(19, 20), *[OPEN] * 11], "fails in part"),
        ([seeds(16, 20), *[OPEN] * 11], ""),  # it fails, too
        ([check([3.0] * 6, low=0.0, high=2.0), HOLDS, HOLDS], ""),  # two ends count as two: seven seeds
        ([FEW], ""),
        ([FEW, HOLDS], ""),
        ([FEW, seeds(6, 6)], "fails in part"),
        ([UNTESTED], "not tested"),
        ([UNTESTED, HOLDS], ""),  # the claim says that all are true
        ([UNTESTED, FAILS, FAILS], ""),
        ([UNTESTED, seeds(6, 6)], "fails in part"),
        ([estimated(-2.0, -1.0), HOLDS], "fails in part"),  # it misses on one side once in 40
        ([estimated(-2.0, -1.0), HOLDS, HOLDS], ""),
        ([estimated(1.0, 2.0)] * 3, "holds"),
        ([estimated(-1.0, 1.0)], ""),
    ],
)
def test_words_by_hand(checks, word):
    assert judged_on(*checks).word == word


def test_counts_in_words():
    told = [count_answers([check.answer for check in checks]) for checks in ([HOLDS, FAILS, OPEN], [HOLDS, UNTESTED])]
    assert told == ["1 of 3 holds, 1 fails, 1 undecided", "holds where tested: 1 of 2"]
    assert count_answers(["undecided"]) == "undecided"


def test_open_checks_are_those_that_may_change_the_verdict():
    assert judged_on(HOLDS, OPEN).open_checks == [OPEN]
    assert judged_on(HOLDS, FAILS).open_checks == [FAILS]  # decided itself, and one of two refutes nothing
    assert judged_on(FAILS, FAILS).open_checks == judged_on(HOLDS, seeds(6, 6)).open_checks == []
    assert judged_on(FEW, UNTESTED).open_checks == [FEW]  # no more seeds would decide the other


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
    [verdict] = judge(SMALL.values(), "Figure 1", [ClaimData(["small"], evidence, evidence.fitting())])
    return verdict.fit


def test_verdicts_on_runs_that_fit():
    runs = [*(trained(seed, 0.1, 0.5) for seed in range(5)), trained(5, 0.2, 0.5), trained(6, 0.3, 7.0)]
    lost = record(7, diverged_at=5)
    a, b = [*runs, lost], runs[:5]
    assert fit_of({"a": 0.2, "b": 0.1}, a=a, b=b) == Fit(13, 1, 11, "holds")
    assert fit_of({"a": 0.3, "b": 0.1}, a=a, b=b) == Fit(13, 1, 12, "")
    assert fit_of({"a": 0.3, "b": 0.1}, a=a, b=b[:3]) == Fit(11, 1, 10, "")
    assert fit_of({"a": 0.3, "b": 0.01}, a=a, b=b) == Fit(13, 1, 7, "not tested")  # none of b's fits
    assert fit_of(None, a=a, b=b) is None


def test_runs_of_several_panels_are_counted_together():
    first, second = (Evidence({"a": [trained(seed, 0.1, 0.5)]}, {"a": level}) for seed, level in ((0, 0.1), (1, 0.01)))
    claims = (["small"], ["small"], [])
    data = [ClaimData(names, each, each.fitting()) for names, each in zip(claims, (first, second, first), strict=True)]
    [verdict] = judge(SMALL.values(), "Figure 1", data)
    assert verdict.fit == Fit(2, 0, 1, "not tested")
