import numpy as np
import pandas as pd
import pytest

from experiments.long_short_alignment.correlations import Correlation, correlation, lead, pearson, spearman, without_one


def test_correlations_by_hand():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert pearson(x, y) == pytest.approx(0.5)
    assert pearson(x, -2 * x + 7) == pytest.approx(-1)
    assert spearman(x, np.exp(10 * x)) == pytest.approx(1)
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5, squares 1.5 and 2.
    assert spearman(np.array([4.0, 4.0, 9.0]), x) == pytest.approx(1.5 / np.sqrt(3))
    assert np.isnan(pearson(x, np.ones(3)))


def test_they_agree_with_those_of_pandas():
    drawn = pd.DataFrame(np.random.default_rng(1).integers(0, 6, (40, 2)).astype(float), columns=["x", "y"])
    x, y = drawn["x"].to_numpy(), drawn["y"].to_numpy()
    assert pearson(x, y) == pytest.approx(drawn["x"].corr(drawn["y"]))
    assert spearman(x, y) == pytest.approx(drawn["x"].rank().corr(drawn["y"].rank()))


def sample(settings: int, seeds: int, seed: int, shared: float) -> pd.DataFrame:
    """Uncorrelated settings, whose seeds share nearly all."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(settings, 1, 2)) * shared + generator.normal(size=(settings, seeds, 2)) * 0.01
    rows = pd.DataFrame(values.reshape(-1, 2), columns=["x", "y"])
    return rows.assign(group=np.repeat(np.arange(settings), seeds).astype(str))


def test_seeds_of_one_setting_do_not_count_as_independent_models():
    together = correlation(sample(12, 5, 0, 1.0), "x", "y", "group")
    alone = correlation(sample(12, 5, 0, 1.0).assign(group=lambda d: range(len(d))), "x", "y", "group")
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_the_interval_covers_what_is_true_about_as_often_as_it_says():
    found = [correlation(sample(25, 2, seed, 1.0), "x", "y", "group") for seed in range(40)]
    assert sum(each.low <= 0 <= each.high for each in found) >= 34


def test_what_is_not_finite_or_does_not_vary_has_no_correlation():
    rows = pd.DataFrame({"x": [1.0, 2.0, np.inf], "y": [1.0, 2.0, 3.0], "group": ["a", "b", "c"]})
    assert all(np.isnan(correlation(rows, "x", "y", "group")))
    one = rows.assign(x=[1.0, 2.0, 3.0], group="a")
    assert correlation(one, "x", "y", "group").value == pytest.approx(1)
    assert np.isnan(correlation(one, "x", "y", "group").low)
    assert str(Correlation(0.123, -0.5, 0.9)) == "0.12 [-0.50, 0.90]"


def test_the_lead_of_one_predictor_over_another_by_hand():
    rows = pd.DataFrame({"x": [1.0, 2, 3], "z": [1.0, 3, 2], "y": [1.0, 2, 3], "group": ["a", "b", "c"]})
    assert lead(rows, "x", "z", "y", "group").value == pytest.approx(1 - 0.5)
    assert tuple(lead(rows, "x", "x", "y", "group")) == (0, 0, 0)


def test_a_correlation_that_one_entry_carries_shows_it():
    rows = pd.DataFrame({"x": [0.0, 1, 0, 1, 9], "y": [0.0, 0, 1, 1, 9], "encoding": ["a", "a", "b", "b", "c"]})
    least, greatest = without_one(rows, "x", "y", "encoding")
    assert least == pytest.approx(0)  # without c the four points are a square
    assert greatest > 0.9
