"""The plot of where the spread over seeds comes from."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from support.records import record
from synthlab.storage.records import Record
from synthlab.studies.figures import Panel, draw_data
from synthlab.studies.plots import PLOTS, SEEDS, SOURCES, Series

PLOT = PLOTS.build({"name": "spread", "lengths": [2, 5]})
SIZES = (3, 2, 2)


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
        drawn = draw_data(panel, PLOTS.build(panel.plot), found, "")
        assert drawn[["share", "low", "high", "deviation"]].isna().all(axis=None)
        assert ("(1 diverged)" in drawn["left_out"].iloc[0]) == (lost.diverged_at is not None)
