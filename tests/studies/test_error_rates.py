"""How often a claim gets a wrong word, simulated where the error rates are greatest: the medians of all its checks lie
exactly at their thresholds, so that each seed falls on either side of each as a fair coin does. Values on the one side
are ties with the threshold.

Of 20,000 claims a share of 5 % has a standard error of 0.15 %. The tests allow three of these, and the draws are fixed.
"""

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from experiments.output_alignment.claims import CLAIMS
from experiments.reference import ROOT
from synthlab.studies.checks import NO_WORD, Answer, Check
from synthlab.studies.intervals import FIRST, LEVEL, boundary, first_look
from synthlab.studies.study import LOOKS
from synthlab.studies.verdicts import Verdict

CLAIMS_DRAWN = 20_000
ALLOWED = LEVEL + 3 * (LEVEL * (1 - LEVEL) / CLAIMS_DRAWN) ** 0.5
EVERY = tuple(range(3, LOOKS[-1] + 1))  # a look after each seed


class Known(NamedTuple):
    """What a verdict asks of a check, looked up in place of computed."""

    answer: Answer
    fails_clearly: bool
    thresholds: tuple[float, ...] = (0.0,)

    def fails_at(self, level: float) -> bool:
        return self.fails_clearly


@cache
def known(agreeing: int, number: int, checks: int, ends: bool) -> Known:
    """A check of one of so many ``checks``, whose values that agree, or those that do not, equal its threshold."""
    values = np.repeat([0.0, -1.0] if ends else [-1.0, 0.0], [agreeing, number - agreeing])
    check = Check("x", values, low=0.0) if ends else Check("x", values, high=0.0)
    return Known(check.answer, check.fails_at(LEVEL / checks))


@cache
def word(found: frozenset[Known]) -> str:
    return Verdict(CLAIMS["1a"], "x", [*found], []).word


def rates(agrees: np.ndarray, is_known: np.ndarray, looks: tuple[int, ...]) -> dict[str, float]:
    """The share of claims by the word at which one stops: the first at some look, or none.

    Args:
        agrees: Whether a value lies on the right side, by claim, check and seed, [claims, checks, seeds].
        is_known: Whether it is not missing, [claims, checks, seeds].
        looks: The numbers of seeds after which one looks.
    """
    found = [NO_WORD] * len(agrees)
    for look in looks:
        numbers = is_known[..., :look].sum(axis=-1)
        counts = (agrees & is_known)[..., :look].sum(axis=-1)
        for claim in (claim for claim, each in enumerate(found) if each == NO_WORD):
            pairs = zip(counts[claim].tolist(), numbers[claim].tolist(), strict=True)
            found[claim] = word(
                frozenset(known(*pair, agrees.shape[1], bool(check % 2)) for check, pair in enumerate(pairs))
            )
    return {each: found.count(each) / len(found) for each in set(found)}


def independent(generator: np.random.Generator, checks: int) -> np.ndarray:
    return generator.random((CLAIMS_DRAWN, checks, LOOKS[-1])) < 0.5


def identical(generator: np.random.Generator, checks: int) -> np.ndarray:
    return np.repeat(generator.random((CLAIMS_DRAWN, 1, LOOKS[-1])) < 0.5, checks, axis=1)


def correlated(generator: np.random.Generator, checks: int) -> np.ndarray:
    """Normal values with a correlation of 0.5 between any two checks of one seed, as of arms with one baseline."""
    shared = generator.standard_normal((CLAIMS_DRAWN, 1, LOOKS[-1]))
    return generator.standard_normal((CLAIMS_DRAWN, checks, LOOKS[-1])) + shared > 0


@pytest.mark.slow
@pytest.mark.parametrize("looks", [(FIRST,), EVERY], ids=["five seeds", "after each"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("drawn", [independent, identical, correlated])
@pytest.mark.parametrize("checks", [1, 3, 7])
def test_each_word_is_wrong_at_most_once_in_20(checks, drawn, missing, looks):
    generator = np.random.default_rng(11)
    agrees = drawn(generator, checks)
    found = rates(agrees, generator.random(agrees.shape) >= missing, looks)
    assert found.get("holds", 0.0) <= ALLOWED
    assert found.get("fails", 0.0) + found.get("fails in part", 0.0) <= ALLOWED


@pytest.mark.parametrize("checks", [1, 2, 3, 7, 12, 36])
def test_no_dependence_between_checks_refutes_more_often(checks):
    # Whatever they depend on, one of the checks crosses at most as often as all together.
    assert all(checks * boundary(n, LEVEL / checks)[1] <= LEVEL for n in range(first_look(LEVEL / checks), 60))


def test_seeds_that_refute_a_claim():
    # 2^-5 < 5 %, 2^-6 < 5 % / 3, 2^-7 < 5 % / 6, 2^-8 < 5 % / 12, 2^-9 < 5 % / 25
    told = re.findall(r"^\| seeds (.*)", (ROOT / "docs" / "deciding.md").read_text(), flags=re.MULTILINE)
    wanted = [5, 6, 6, 7, 7, 8, 8, 9, 9]
    assert [first_look(LEVEL / checks) for checks in (1, 2, 3, 4, 6, 7, 12, 13, 25)] == wanted
    assert told == [f"| {' | '.join(map(str, dict.fromkeys(wanted)))} |"]


@cache
def fails(below: int, number: int) -> bool:
    """Return True if a check with two ends fails, of whose values so many lie below the range and the others above."""
    return Check("x", np.repeat([-1.0, 1.0], [below, number - below]), low=-0.5, high=0.5).answer == "fails"


@pytest.mark.slow
def test_a_check_with_two_ends_errs_once_in_10():
    below = np.random.default_rng(19).random((CLAIMS_DRAWN, LOOKS[-1])) < 0.5  # the median may lie inside
    failing = [[fails(int(each[:look].sum()), look) for look in LOOKS] for each in below]
    assert np.mean([looks[0] for looks in failing]) == pytest.approx(2 / 32, abs=0.005)
    assert LEVEL < np.mean([any(looks) for looks in failing]) <= 2 * LEVEL
