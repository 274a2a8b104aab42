"""Theorem 1: what violates it, and that what is right instead is violated by nothing."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Matrix, Rational

from theory.ledger import Status
from theory.misalignment import CORRECTED, E1, E2, INSTANCES, PRINTED, chain, check_bound, norm


def test_the_violations_by_hand():
    one_hot, thrice, silent = INSTANCES
    # Right in training; then one far token of three stands for 3 e1 - 2 e2: (2 e2 + 3 e1 - 2 e2)/3 = e1, at a squared
    # distance of 2. The weights are 1 throughout and the three tokens' values add up to 0, so W^Q W^K' W^V W = 0 and
    # the bound is (2/3)^2.
    assert one_hot.error_and_bound(PRINTED, 3) == (2, Rational(4, 9))
    # Two far ones of four answer -3 e2: (2 - 6)/4 = -1, against (3/4)^2 (1 + 4).
    assert thrice.error_and_bound(PRINTED, 4) == (4, Rational(45, 16))
    # Silent in training (error 1), -4 e2 from 2 of 4 tokens: (-2 - 1)^2 against rho^2 (0 + 1 + 1 + 16) + 1.
    assert silent.error_and_bound(PRINTED, 4) == (9, Rational(9, 16) * 18 + 1)
    for instance in INSTANCES:
        error, bounded = instance.error_and_bound(CORRECTED, 40)
        assert error < bounded


def test_counterexample_meets_the_assumptions():
    one_hot, thrice, _ = INSTANCES
    outputs = [one_hot.output(length) for length in (1, 2, 3)]
    assert outputs == [E2, E2, E1]  # right in training, and one-hot at every length: of norm 1, and probabilities
    verdict = check_bound(PRINTED)
    assert (verdict.status, "l_test = 3" in verdict.detail) == (Status.FAILS, True)
    # The other model that is right in training has outputs of norm 1 where the theorem looks, but not between.
    assert [norm(thrice.output(length)) for length in (1, 2, 3, 4)] == [1, 1, Rational(1, 9), 1]


@pytest.mark.slow
def test_smaller_constants_fail():
    assert check_bound(CORRECTED).status == Status.HOLDS
    for part in (
        {"misalign": lambda r: 2 * r**2},
        {"train": lambda r: 2 * (r**2 + 1)},
        {"rest": lambda r, a, b: 3 * (1 + 2 * norm(a * b)) * r**2},  # A B = 0 leaves far outputs unbounded
        {"rest": lambda r, a, b: 3 * norm(a) * norm(b) * r**2},
    ):
        assert check_bound(CORRECTED._replace(**part)).status == Status.FAILS


def test_three_is_the_least_factor():
    assert chain(3).status == Status.HOLDS
    assert chain(Rational(299, 100)).status == Status.FAILS
    # The vectors that need nearly 3: s small, e = s r = -s y, and the third and fourth half of -s e each.
    s, e = Rational(1, 1000), 1 / (1 + Rational(1, 2 * 10**6))
    vectors = [e, 1, -s * e / 2, -s * e / 2, 1]
    assert sum(vectors) ** 2 / sum(v**2 for v in vectors) > Rational(299, 100)


tokens = st.integers(0, 2)
weights = st.lists(st.integers(-3, 3), min_size=9, max_size=9)


@given(weights, weights, st.lists(tokens, min_size=9, max_size=9), tokens)
def test_the_corrected_bounds_hold(first, second, text, target):
    a, b = np.array(first).reshape(3, 3), np.array(second).reshape(3, 3)
    x, y = np.eye(3)[text], np.eye(3)[target]
    train_length, test_length = 4, 9

    def output(length):
        window = x[-length:]
        return x[-1] @ a @ window.T @ window @ b / length

    def error(length):
        return ((output(length) - y) ** 2).sum()

    windows = range(train_length // 2, train_length + 1)
    train = np.mean([error(length) for length in windows])
    misalign = np.mean([((output(i) - output(j)) ** 2).sum() for i, j in product(windows, repeat=2)])
    rho = Fraction(1) - Fraction(train_length, 2 * test_length)
    rest = CORRECTED.rest(Rational(rho.numerator, rho.denominator), Matrix(a.tolist()), Matrix(b.tolist()))
    assert error(test_length) <= 3 * rho**2 * misalign + 3 * (rho**2 + 1) * train + float(rest) + 1e-9
    norms = np.linalg.norm(a, 2) * np.linalg.norm(b, 2)
    assert error(test_length) <= (np.sqrt(train) + float(rho) * norms) ** 2 + 1e-9
