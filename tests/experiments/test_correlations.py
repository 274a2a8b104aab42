"""Correlations over models, their intervals, and how many models a study of them takes, by hand and simulated."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from experiments.correlations import (
    Correlation,
    Intervals,
    correlation,
    difference,
    jackknife,
    lead,
    leave_out_encodings,
    pearson,
    range_without_one,
    spearman,
    student,
    widen_by_leaving_out,
)
from experiments.long_short_alignment.power import power


def test_correlations_by_hand():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert pearson(x, y) == pytest.approx(0.5)
    assert pearson(x, -2 * x + 7) == pytest.approx(-1)
    assert spearman(x, np.exp(10 * x)) == pytest.approx(1)
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5, squares 1.5 and 2.
    assert spearman(np.array([4.0, 4.0, 9.0]), x) == pytest.approx(1.5 / np.sqrt(3))
    assert np.isnan(pearson(x, np.ones(3)))


def test_quantiles_are_those_of_students_table():
    assert [round(student(n), 3) for n in (4, 6, 10, 27, 100)] == [2.776, 2.447, 2.228, 2.052, 1.984]


def test_the_interval_by_hand():
    # of ranks 1 to 5 against 2, 1, 3, 5, 4: r = 0.8, and without one of them 0.8, 0.8, 0.6, 0.8, 0.8 by ranks
    rows = pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": [2.0, 1, 3, 5, 4], "group": list("abcde")})
    without = [spearman(*rows.drop(index)[["x", "y"]].to_numpy().T) for index in rows.index]
    assert without == pytest.approx([0.8, 0.8, 0.6, 0.8, 0.8])
    reach = student(4) * np.sqrt(4 / 5 * (np.arctanh(0.8) - np.arctanh(0.6)) ** 2)
    ends = np.tanh([np.arctanh(0.8) - reach, np.arctanh(0.8) + reach])
    assert tuple(correlation(rows, "x", "y", "group", spearman)) == pytest.approx((0.8, *ends))


def normal(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.standard_normal(shape)


def heavy_tailed(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Student's t with five degrees of freedom, of variance 1: a few models lie far out, in all quantities."""
    return normal(generator, *shape) * np.sqrt(3 / generator.chisquare(5, (*shape[:2], 1)))


STUDIES, SEEDS = 2000, 2


@pytest.mark.parametrize("drawn", [normal, heavy_tailed])
@pytest.mark.parametrize("number", [7, 28])
def test_intervals_cover(drawn, number):
    """Of 2,000 studies the share has a standard error of at most 0.6 %. Found: 94.4 to 95.4 % of a correlation, 93.2 to
    95.6 % of a lead. The bootstrap that this took the place of covers 88 to 95 %
    in simulations like this."""
    together = np.array([[1, 0.3, 0.8], [0.3, 1, 0.5], [0.8, 0.5, 1]])
    generator = np.random.default_rng(0)
    settings = drawn(generator, STUDIES, number, 3) @ np.linalg.cholesky(together).T
    noise = 0.3 * normal(generator, STUDIES, number * SEEDS, 3)
    x, other, y = np.moveaxis(np.repeat(settings, SEEDS, axis=1) + noise, -1, 0)
    found = jackknife([x, other], y, np.repeat(np.arange(number), SEEDS), pearson)
    first, second = 0.8 / 1.09, 0.5 / 1.09  # noise lowers correlations by 1 + 0.3^2
    covered = np.mean((found.low[:, 0] <= first) & (first <= found.high[:, 0]))
    _, low, high = difference(found)
    led = np.mean((low <= first - second) & (first - second <= high))
    assert 0.925 < covered < 0.97
    assert 0.92 < led < 0.98


def test_no_correlation():
    rows = pd.DataFrame({"x": [1.0, 2.0, np.inf], "y": [1.0, 2.0, 3.0], "group": ["a", "b", "c"]})
    assert all(np.isnan(correlation(rows, "x", "y", "group")))
    one = rows.assign(x=[1.0, 2.0, 3.0], group="a")
    assert correlation(one, "x", "y", "group").value == pytest.approx(1)
    assert np.isnan(correlation(one, "x", "y", "group").low)
    assert str(Correlation(0.123, -0.5, 0.9)) == "0.12 [-0.50, 0.90]"


def test_lead_by_hand():
    rows = pd.DataFrame({"x": [1.0, 2, 3], "z": [1.0, 3, 2], "y": [1.0, 2, 3], "group": ["a", "b", "c"]})
    assert lead(rows, "x", "z", "y", "group").value == pytest.approx(1 - 0.5)
    assert tuple(lead(rows, "x", "x", "y", "group")) == (0, 0, 0)
    # Estimates that do not go together: each end is as far off as the two ends that make it are, by Pythagoras.
    apart = Intervals(np.array([0.8, 0.5]), np.array([0.5, 0.1]), np.array([0.9, 0.7]), np.eye(2))
    assert difference(apart) == pytest.approx((0.3, 0.3 - np.hypot(0.3, 0.2), 0.3 + np.hypot(0.1, 0.4)))
    # Those that go together wholly: as far as the one is further off than the other.
    whole = apart._replace(together=np.ones((2, 2)))
    assert difference(whole) == pytest.approx((0.3, 0.3 - 0.1, 0.3 + 0.3))


def test_range_without_one():
    rows = pd.DataFrame({"x": [0.0, 1, 0, 1, 9], "y": [0.0, 0, 1, 1, 9], "encoding": ["a", "a", "b", "b", "c"]})
    least, greatest = range_without_one(rows, "x", "y", pearson, ())
    assert least == pytest.approx(0)  # without c the four points are a square
    assert greatest > 0.9
    # Within a and within b nothing varies but as it does there: 1 and -1, and without the one or the other 1 or -1.
    rows = pd.DataFrame({"x": [0.0, 2, 5, 6], "y": [0.0, 1, 9, 7], "encoding": ["c", "d", "c", "d"], "k": list("aabb")})
    assert np.isnan(range_without_one(rows, "x", "y", pearson, ["k"])[0])  # one row a group is its own mean
    rows = pd.DataFrame({"x": [0.0, 2, 5, 6], "y": [0.0, 1, 9, 7], "encoding": list("aabb"), "k": list("aabb")})
    assert range_without_one(rows, "x", "y", pearson, ["k"]) == pytest.approx((-1, 1))


def corners(names: str) -> pd.DataFrame:
    """Of each encoding four models at the corners of a square, which do not correlate, and each a training."""
    rows = pd.DataFrame(product(names, (0.0, 1.0), (0.0, 1.0)), columns=["encoding", "x", "y"])
    return rows.assign(group=[f"{row.encoding}{row.x}{row.y}" for row in rows.itertuples()])


def over_models(rows: pd.DataFrame, by: str) -> Correlation:
    return correlation(rows, "x", "y", by)


def test_what_one_encoding_carries():
    far = corners("g")
    rows = pd.concat([corners("abcdef"), far.assign(x=far["x"] + 9, y=far["y"] + 9)])
    plain = over_models(rows, "group")
    assert plain.low > 0.9
    found = widen_by_leaving_out(rows, ["x", "y"], "trainings", (), over_models)
    without = over_models(corners("abcdef"), "group")
    assert found.value == plain.value
    assert found.low == without.low < 0 < plain.high < found.high
    # Encodings are left out one by one as it is, and the interval reaches from -0.99 to 1.
    assert widen_by_leaving_out(rows, ["x", "y"], "encodings", (), over_models) == over_models(rows, "encoding")


def test_models_less_the_mean_of_those_left():
    rows = pd.DataFrame({"x": [0.0, 2.0, 7.0, 1.0, 3.0, 5.0], "encoding": list("abcabc"), "k": list("sssttt")})
    without = {frozenset(part["encoding"]): part["x"].tolist() for part in leave_out_encodings(rows, ["x"], ["k"])}
    assert without == {
        frozenset("bc"): [-2.5, 2.5, -1, 1],
        frozenset("ac"): [-3.5, 3.5, -2, 2],
        frozenset("ab"): [-1, 1, -1, 1],
    }
    without_a, *_ = leave_out_encodings(rows, ["x"], ())
    assert without_a["x"].tolist() == [2, 7, 3, 5]


def test_unknown_intervals_stay_unknown():
    rows = pd.DataFrame(normal(np.random.default_rng(0), 6, 2), columns=["x", "y"])
    rows = rows.assign(group=list("uvwxyz"), encoding=list("aaaabb"))  # four groups are left, or two
    assert np.isfinite(over_models(rows, "group").low)
    assert np.isnan(widen_by_leaving_out(rows, ["x", "y"], "trainings", (), over_models).low)


@pytest.mark.parametrize("number", [14, 56])
def test_a_study_finds_what_its_power_says(number):
    """Of 500 studies the share that finds the lead that there is, and what such a study says of it, in the median: the
    share has a standard error of 0.02, and what is said may be 0.08 too careful."""
    together = np.array([[1, 0.3, 0.7], [0.3, 1, 0.4], [0.7, 0.4, 1]])
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(3), together, size=(500, number))
    measured = jackknife([drawn[..., 0], drawn[..., 1]], drawn[..., 2], np.arange(number), pearson)
    value, low, high = difference(measured)
    said = [power(Correlation(*each), number, 0.3).found for each in zip(value, low, high, strict=True)]
    assert np.mean(low > 0) == pytest.approx(np.median(said), abs=0.1)


def test_power_by_hand():
    measured = Correlation(0.1, 0.05, 0.1 + student(24) * 0.05)  # of 25, with a standard error of 0.05
    found = power(measured, 25, 0.2)
    assert found.smallest == pytest.approx((student(24) + 0.8416) * 0.05, abs=1e-4)
    assert found.found == pytest.approx(NormalDist().cdf(0.2 / 0.05 - student(24)))
    # of 14: (2.160 + 0.842) * 0.05 * sqrt(25 / 14) = 0.2006; of 15: (2.145 + 0.842) * 0.05 * sqrt(25 / 15) = 0.193
    assert found.needed == 15
    assert power(measured, 25, found.smallest).found == pytest.approx(0.8)
    assert np.isnan(power(measured, 25, 1e-4).needed)
    assert all(np.isnan(power(Correlation(0.1, np.nan, np.nan), 4, 0.2)))
    assert all(np.isnan(power(Correlation(0.0, 0.0, 0.0), 25, 0.2)))  # of a predictor over itself
