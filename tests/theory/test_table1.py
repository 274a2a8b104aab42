"""Table 1's correlations, by hand."""

import numpy as np
import pytest

from theory.ledger import Status
from theory.propositions.table1 import (
    MISALIGNMENT,
    OUTCOMES,
    PROPOSITION,
    TRAINING_LOSS,
    interval,
    pearson,
    range_when_rounded,
    spearman,
)

PERPLEXITY, SCORE = OUTCOMES.values()


def test_coefficients_by_hand():
    # Distances from the mean -1, 0, 1 and -1, 1, 0: the product 1 over 2.
    assert pearson((1, 2, 3), (1, 3, 2)) == 1 / 2
    assert pearson((1, 2, 3), (5, 3, 1)) == -1
    # Ranks 1, 2, 3 and 1.5, 1.5, 3: (0.5 + 1) over the root of 2 x 1.5.
    assert spearman((1, 2, 9), (4, 4, 5)) == pytest.approx(1.5 / 3**0.5)
    # Fisher: atanh 0 = 0, so tanh(1.96 / 2) to either side of 0 for seven pairs.
    assert interval(0, 7) == pytest.approx((-np.tanh(0.98), np.tanh(0.98)), abs=1e-4)


def test_the_coefficients_of_the_printed_columns():
    for x, y, r in (
        (TRAINING_LOSS, PERPLEXITY, 0.760),
        (TRAINING_LOSS, SCORE, -0.785),
        (MISALIGNMENT, PERPLEXITY, 0.961),
        (MISALIGNMENT, SCORE, -0.962),
    ):
        assert pearson(x, y) == pytest.approx(r, abs=5e-4)
        assert pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert spearman(TRAINING_LOSS, SCORE) == pytest.approx(-0.559, abs=5e-4)


def test_range_of_rounded_columns():
    generator = np.random.default_rng(0)
    for column, ends in ((PERPLEXITY, (0.613, 0.869)), (SCORE, (-0.892, -0.648))):
        low, high = range_when_rounded(TRAINING_LOSS, column)
        assert (low, high) == pytest.approx(ends, abs=5e-4)
        offsets = generator.uniform(-1, 1, (500, 2, 7))
        drawn = [np.corrcoef(np.add(TRAINING_LOSS, a), np.add(column, b))[0, 1] for a, b in offsets]
        assert all(abs(r) > min(abs(low), abs(high)) for r in drawn)
    # Two values each: r is 1 at every corner.
    assert range_when_rounded((10, 20), (3, 8)) == (1, 1)


def test_what_the_checker_accepts():
    entry, _ = PROPOSITION.entries
    assert entry.check((0.67, -0.79)).status == Status.HOLDS  # the first by rounding
    assert entry.check((0.67, -0.56)).status == Status.HOLDS  # Spearman's
    assert entry.check((0.76, -0.56)).status == Status.FAILS  # one of each kind
    assert entry.check((0.67, 0.79)).status == Status.FAILS
