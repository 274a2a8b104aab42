from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments.output_alignment.figures import NumberFigure
from support import records
from support.records import record
from synthlab.analysis.plotting import DataPanel
from synthlab.studies.plots import Series

PLOTS = NumberFigure.plots


def made(value: float, seeds=2, **changed) -> list:
    """Records of so many seeds, whose every metric at length k is value k (1 + seed)."""
    return records.made(value, range(seeds), **changed)


def power(p: float) -> dict:
    return {"outrep": {"name": "power", "p": p, "shift": 0.0}}


def named(name: str) -> dict:
    return {"outrep": {"name": name, "shift": 0.0}}


def axes_of(plot, series, drawn):
    axes = Figure().add_subplot()
    data = drawn.assign(metric="mse", train_length=10, overrides="", left_out="")
    DataPanel("x", plot, data, plot.settings(series)).draw(axes)
    return axes


# One of each kind.
EVERY = [
    {"name": "curves"},
    {"name": "training"},
    {"name": "against", "x": "train_length", "lengths": [2]},
    {"name": "powers", "lengths": [2]},
    {"name": "heat", "rows": "train_length", "columns": "encoding"},
]
every = pytest.mark.parametrize("plot", EVERY, ids=lambda plot: plot["name"])


@every
def test_every_table_counts_runs_that_fit(plot):
    losses = [1e-3, 2e-6, 3e-6]
    runs = [
        replace(r, training=pd.DataFrame({"step": [10, 20], "loss": [1.0, loss]}))
        for r, loss in zip(made(1, 3, train_length=10), losses, strict=True)
    ]
    chosen = {"train_length": 10, "encoding": "nope"}
    build = PLOTS.build(plot)
    drawn = build.data([Series(chosen, [*runs, record(9, diverged_at=4)], level=1e-5)], "mse")
    assert set(drawn[["seeds", "fit", "diverged"]].itertuples(index=False, name=None)) == {(3, 2, 1)}
    alone = build.data([Series(chosen, runs[1:])], "mse")
    assert drawn["median_fit"].tolist() == alone["median"].tolist()


def test_against_by_hand():
    grid = [
        Series({"model.depth": depth, "train_length": length}, made(length * depth, train_length=length))
        for depth in (1, 2)
        for length in (5, 10)
    ]
    plot = PLOTS.build({"name": "against", "x": "train_length", "lengths": [12]})
    drawn = plot.data(grid, "mse")
    assert drawn[["series", "train_length", "median"]].values.tolist() == [
        ["model.depth=1", 5, 5 * 12 * 1.5],
        ["model.depth=1", 10, 10 * 12 * 1.5],
        ["model.depth=2", 5, 10 * 12 * 1.5],
        ["model.depth=2", 10, 20 * 12 * 1.5],
    ]
    assert list(axes_of(plot, grid, drawn).get_lines()[1].get_ydata()) == [180, 360]


def test_powers_by_hand():
    grid = [
        Series({"outrep": "rlog"}, made(5, **named("rlog"))),
        Series({"outrep": "identity"}, made(4, **named("identity"))),
        Series({"outrep": "rsqrt"}, made(2, **named("rsqrt"))),
        Series({"outrep": "power", "outrep.p": -2.0}, made(1, **power(-2.0))),
    ]
    plot = PLOTS.build({"name": "powers", "lengths": [2]})
    drawn = plot.data(grid, "mse")
    assert drawn["map"].tolist() == ["power", "rsqrt", "identity", "rlog"]
    assert drawn["p"].tolist()[:3] == [-2.0, -0.5, 1.0]
    assert drawn["p"].isna().tolist() == [False, False, False, True]
    assert drawn["median"].tolist() == [3.0, 6.0, 12.0, 15.0]


def test_heat_by_hand():
    def reaching(length, **member):
        runs = made(1, **member)
        return [replace(r, metrics=r.metrics.assign(relative_error=1.0 * (r.metrics["length"] > length))) for r in runs]

    reach = {"log": 4, "identity": 12}
    grid = [
        Series(
            {"encoding": encoding, "outrep": name}, reaching(reach[name], encoding={"name": encoding}, **named(name))
        )
        for encoding in ("nope", "alibi")
        for name in ("log", "identity")
    ]
    plot = PLOTS.build({"name": "heat", "rows": "encoding", "columns": "outrep"})
    drawn = plot.data(grid, "mse")
    assert drawn[["encoding", "outrep", "median"]].values.tolist() == [
        ["nope", "log", 4],
        ["nope", "identity", 12],
        ["alibi", "log", 4],
        ["alibi", "identity", 12],
    ]
    axes = axes_of(plot, grid, drawn)
    assert [text.get_text() for text in axes.texts] == ["4", "12+", "4", "12+"]
