"""Components of variance: by hand, without bias, and in intervals that cover."""

import math

import numpy as np
import pytest

from synthlab.analysis import variance
from synthlab.analysis.variance import components, mean_squares, share_variance

# The variances of the effects of every set of three factors: a design in which each has a part.
KNOWN = {(0,): 1.0, (1,): 0.5, (2,): 0.3, (0, 1): 2.0, (0, 2): 0.05, (1, 2): 0.05, (0, 1, 2): 0.2}
SIZES = (5, 4, 3)


def simulated(generator: np.random.Generator) -> np.ndarray:
    values = np.full(SIZES, 7.0)
    for factors, known in KNOWN.items():
        shape = [size if axis in factors else 1 for axis, size in enumerate(SIZES)]
        values += math.sqrt(known) * generator.normal(size=shape)
    return values


def estimated(values: np.ndarray) -> dict:
    squares = mean_squares(values)
    found = components({f: np.array([s.value]) for f, s in squares.items()}, values.shape)
    return dict(zip(squares, found, strict=True))


def test_two_factors_by_hand():
    values = np.array([[1.0, 2.0], [3.0, 8.0]])
    # means 1.5, 5.5 of rows, 2, 5 of columns, 3.5 of all; what rows and columns leave is 1, -1, -1, 1
    assert list(mean_squares(values).items()) == [((0,), (16.0, 1)), ((1,), (9.0, 1)), ((0, 1), (4.0, 1))]
    assert estimated(values) == {(0,): (16 - 4) / 2, (1,): (9 - 4) / 2, (0, 1): 4.0}
    found, deviation = share_variance(values, {"rows": [(0,)], "rest": [(1,), (0, 1)]})
    assert deviation == pytest.approx(math.sqrt(6 + 2.5 + 4))
    assert [found[name].value for name in ("rows", "rest")] == pytest.approx([6 / 12.5, 6.5 / 12.5])


def test_additive_effects_have_no_interaction():
    a, b, c = np.array([0.0, 1.0, 5.0]), np.array([2.0, 4.0]), np.array([1.0, 1.0, 4.0, 6.0])
    found = estimated(a[:, None, None] + b[:, None] + c)
    for axis, effect in enumerate((a, b, c)):
        assert found[axis,].item() == pytest.approx(effect.var(ddof=1))
    assert [found[factors].item() for factors in found if len(factors) > 1] == pytest.approx([0] * 4, abs=1e-12)


def test_estimates_are_without_bias():
    generator = np.random.default_rng(0)
    found = [estimated(simulated(generator)) for _ in range(400)]
    for factors, known in KNOWN.items():
        values = np.array([each[factors].item() for each in found])
        # Beyond four standard errors once in 16,000: in seven components once in 2,200.
        assert abs(values.mean() - known) < 4 * values.std() / math.sqrt(len(values)), factors


def test_intervals_cover_the_share_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(variance, "DRAWS", 500)
    generator, groups = np.random.default_rng(0), {str(factors): [factors] for factors in KNOWN}
    covered, trials = dict.fromkeys(groups, 0), 200
    for _ in range(trials):
        shares, _ = share_variance(simulated(generator), groups)
        for (name, found), known in zip(shares.items(), KNOWN.values(), strict=True):
            covered[name] += found.low <= known / sum(KNOWN.values()) <= found.high
    # Of 200 intervals that cover 90 %, less than 160 do once in 100,000; of those that cover 75 %, 160 do once in 17.
    assert min(covered.values()) >= 160, covered


def test_shares_of_all_sources_are_one():
    found, _ = share_variance(simulated(np.random.default_rng(1)), {str(factors): [factors] for factors in KNOWN})
    assert sum(share.value for share in found.values()) == pytest.approx(1)
    assert all(0 <= share.low <= share.high <= 1 for share in found.values())
