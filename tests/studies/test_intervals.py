"""Intervals by hand, and how often a check errs that is looked at again and again."""

from itertools import pairwise, product
from math import comb

import numpy as np
import pytest

from synthlab.studies.intervals import FIRST, LEVEL, boundary, may_spend, median_interval

# By the number of seeds: k, and on one side the sequences of right and wrong values that have crossed.
BY_HAND = {
    1: (1, 1 / 2),
    2: (1, 1 / 4),
    4: (1, 1 / 16),
    5: (1, 1 / 32),
    9: (1, 1 / 32),  # k = 2 would add those with their one wrong value among the first five, 5 of 512: may spend 0.0396
    10: (2, 37 / 1024),  # 32 that begin with five right values, and 5 with the one wrong value among the first five
}


@pytest.mark.parametrize("n", BY_HAND)
def test_interval_by_hand(n):
    k, crossed = BY_HAND[n]
    values = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    assert median_interval(values) == (k, n + 1 - k, 1 - 2 * crossed)


def test_crossing_probability_by_enumeration():
    crossed = 0
    for wrong in product([0, 1], repeat=12):
        crossed += any(sum(wrong[:n]) < boundary(n)[0] for n in range(FIRST, 13))
    assert boundary(12)[1] == crossed / 2**12


def test_boundary_never_spends_more_than_it_may():
    found = [boundary(n) for n in range(FIRST, 100)]
    assert all(crossed <= may_spend(n) for n, (_, crossed) in enumerate(found, FIRST))
    for (k, crossed), (next_k, next_crossed) in pairwise(found):
        assert next_k - k in (0, 1)
        assert crossed <= next_crossed < LEVEL
    assert [found[n - FIRST][0] for n in (5, 10, 15, 20, 40, 80)] == [1, 2, 3, 5, 11, 26]


def one_sided(looks: tuple[int, ...]) -> float:
    """The probability that a check with its median at the threshold is decided on one given side, looked at after so
    many values: exact, over the number of values on the other side."""
    undecided, before, found = {0: 1.0}, 0, 0.0
    for look in looks:
        reached: dict[int, float] = {}
        for wrong, probability in undecided.items():
            for more in range(look - before + 1):
                further = probability * comb(look - before, more) / 2 ** (look - before)
                reached[wrong + more] = reached.get(wrong + more, 0.0) + further
        before, (k, _) = look, boundary(look)
        found += sum(probability for wrong, probability in reached.items() if wrong < k)
        undecided = {wrong: p for wrong, p in reached.items() if k <= wrong <= look - k}
    return found


@pytest.mark.parametrize(("looks", "probability"), [((5, 10, 15, 20), 0.018), ((10, 15, 20), 0.003)])
def test_groups_of_seeds_hardly_contradict_one_another(looks, probability):
    # that of four groups one decides a check one way and another the other way, at worst
    each = one_sided(looks)
    assert 1 - 2 * (1 - each) ** 4 + (1 - 2 * each) ** 4 == pytest.approx(probability, abs=5e-4)
