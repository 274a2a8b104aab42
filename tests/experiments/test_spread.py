"""Where the spread over seeds comes from: components of variance, and the plot of them."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment import spread
from experiments.output_alignment.figures import NumberFigure
from experiments.output_alignment.spread import SEEDS, SOURCES, components, mean_squares, share_variance
from support.records import record
from synthlab.storage.records import Record
from synthlab.studies.figures import Panel, draw_data
from synthlab.studies.plots import Series

PLOT = NumberFigure.plots.build({"name": "spread", "lengths": [2, 5]})
SIZES = (3, 2, 2)
# The variances of the effects of every set of three factors: a design in which each has a part.
KNOWN = {(0,): 1.0, (1,): 0.5, (2,): 0.3, (0, 1): 2.0, (0, 2): 0.05, (1, 2): 0.05, (0, 1, 2): 0.2}
LEVELS = (5, 4, 3)


def simulated(generator: np.random.Generator) -> np.ndarray:
    values = np.full(LEVELS, 7.0)
    for factors, known in KNOWN.items():
        shape = [size if axis in factors else 1 for axis, size in enumerate(LEVELS)]
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


def test_estimates_are_without_bias():
    generator = np.random.default_rng(0)
    found = [estimated(simulated(generator)) for _ in range(400)]
    for factors, known in KNOWN.items():
        values = np.array([each[factors].item() for each in found])
        # Beyond four standard errors once in 16,000: in seven components once in 2,200.
        assert abs(values.mean() - known) < 4 * values.std() / math.sqrt(len(values)), factors


def test_intervals_cover_the_share_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(spread, "DRAWS", 500)
    generator, groups = np.random.default_rng(0), {str(factors): [factors] for factors in KNOWN}
    covered, trials = dict.fromkeys(groups, 0), 200
    for _ in range(trials):
        shares, _ = share_variance(simulated(generator), groups)
        for (name, found), known in zip(shares.items(), KNOWN.values(), strict=True):
            covered[name] += found.low <= known / sum(KNOWN.values()) <= found.high
    # Of 200 intervals that cover 90 %, less than 160 do once in 100,000; of those that cover 75 %, 160 do once in 17.
    assert min(covered.values()) >= 160, covered


def made(log_error: float, *seeds: int, diverged_at: int | None = None) -> Record:
    """A made-up run with the error exp(log_error) at length 2, and its square at length 5."""
    blank = record(0, diverged_at, **dict(zip(SEEDS, seeds, strict=True)))
    powers = blank.metrics["length"].map({2: 1.0, 5: 2.0}).fillna(0.0)
    return replace(blank, metrics=blank.metrics.assign(mse=np.exp(powers * log_error)))


def series(effect, **beside) -> list[Series]:
    """A crossed design of runs with the log error ``effect(weights, data, tests)``."""
    design = list(product(*map(range, SIZES)))
    return [
        Series(dict(zip(SEEDS, seeds, strict=True)) | beside, [made(effect(*seeds), *seeds)])
        for seeds in reversed(design)
    ]


def share(drawn: pd.DataFrame, name: str) -> dict[str, float]:
    rows = drawn[drawn["series"] == name]
    return dict(zip(rows["source"], rows["share"], strict=True))


@pytest.mark.parametrize(
    ("source", "effect"),
    [
        ("weights", lambda w, d, t: w),
        ("data", lambda w, d, t: d),
        ("tests", lambda w, d, t: t),
        ("weights x data", lambda w, d, t: (w - 1) * (2 * d - 1)),
        ("tests x model", lambda w, d, t: (w - 1) * (2 * t - 1)),
        ("tests x model", lambda w, d, t: (2 * d - 1) * (2 * t - 1)),
    ],
)
def test_the_source_of_all_variance(source, effect):
    drawn = PLOT.data(series(effect), "mse")
    for name in ("length=2", "length=5"):
        assert share(drawn, name) == pytest.approx({each: float(each == source) for each in SOURCES}, abs=1e-9)
    assert set(drawn["design"]) == {"3 x 2 x 2"}
    assert set(drawn["seeds"]) == {12}
    deviations = drawn.groupby("series")["deviation"].first()
    assert deviations["length=5"] == pytest.approx(2 * deviations["length=2"])


@pytest.mark.parametrize("log_error", [-math.inf, math.inf, math.nan])
def test_a_design_with_a_hole_has_no_shares(log_error):
    runs = series(lambda w, d, t: w + d)
    for lost in (made(log_error, 0, 0, 0), made(0, 0, 0, 0, diverged_at=1)):
        panel = Panel(title="x", vary={"task": ["sum"]}, plot={"name": "spread", "lengths": [2, 5]})
        found = [("", one) for one in [*runs[:-1], runs[-1]._replace(records=[lost])]]
        drawn = draw_data(panel, NumberFigure.plots.build(panel.plot), found, "")
        assert drawn[["share", "low", "high", "deviation"]].isna().all(axis=None)
        assert ("(1 diverged)" in drawn["left_out"].iloc[0]) == (lost.diverged_at is not None)
