"""Kinds of plots: the data that each takes from records, and how it draws them. Drawing needs the CSV only."""

from typing import Any

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from synthlab.analysis.curves import band_note, draw_curves, draw_lines
from synthlab.analysis.looks import STYLES
from synthlab.analysis.names import SYMBOLS
from synthlab.analysis.tables import aggregate_seeds, curves, metric_of
from synthlab.config.families import families, kind_of_family
from synthlab.config.registry import Registry
from synthlab.errors import InputError
from synthlab.metrics import Metric
from synthlab.studies.grids import label
from synthlab.studies.presentation.drawing import Lengths, Plot, Series, check_lengths, tabulate_runs
from synthlab.studies.presentation.heat import Heat
from synthlab.studies.presentation.spread import Spread

# The named maps that are powers, or a limit of powers; and where the other map is placed on the axis.
EXPONENTS, BESIDE = {"identity": 1.0, "sqrt": 0.5, "log": 0.0, "rsqrt": -0.5, "reciprocal": -1.0}, 1.75


def _metric(drawn: pd.DataFrame) -> Metric:
    """Return the metric that is drawn."""
    return metric_of(map(kind_of_family, families()), drawn["metric"].iloc[0])


class Curves(Plot):
    """Error against length: a line and a band for each series."""

    def data(self, series, metric):
        runs = tabulate_runs(series)
        return curves(runs, metric, runs["series"])

    def paint(self, axes, drawn, styles):
        draw_curves(axes, drawn, _metric(drawn), styles)

    def note(self, drawn):
        ends = "; each curve is ringed where its training lengths end" if drawn["train_length"].nunique() > 1 else ""
        return f"{band_note(drawn)}; trained on the shaded lengths{ends}"


class TrainingLoss(Plot):
    """Training loss against step, whatever the panel's metric."""

    measures = "training loss, representation space"

    def data(self, series, metric):
        losses = [one.count_runs(pd.concat(curves)) for one in series if (curves := _losses(one))]
        return aggregate_seeds(pd.concat(losses), ["series", "step"], "loss") if losses else pd.DataFrame()

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", every=0.12, styles=styles)
        axes.set_xscale("log")
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")


class Learned(Plot):
    """The learned parameters of a map against step: a line and a band for each number of each series."""

    measures = "learned exponent"

    def data(self, series, metric):
        parts = [part for one in series for curve in _losses(one) for part in self._numbers(one, curve)]
        return aggregate_seeds(pd.concat(parts), ["series", "step"], "value") if parts else pd.DataFrame()

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", every=0.12, scale="linear", styles=styles)
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")

    def _numbers(self, one: Series, curve: pd.DataFrame) -> list[pd.DataFrame]:
        names = [name for name in curve if name not in ("step", "loss", "series", "id")]
        label = one.label if len(names) == 1 else f"{one.label}, {{}}"
        return [
            one.count_runs(curve[["step", "id"]].assign(series=label.format(name), value=curve[name])) for name in names
        ]


class Against(Plot):
    """Error at the given test ``lengths`` against one setting ``x`` of the panel's grid.

    There is a line for each combination of the other settings, and for each length.
    """

    def __init__(self, x: str, lengths: Lengths):
        self.x, self.lengths = x, lengths

    def check(self, chosen, test_length):
        check_lengths(self.lengths, test_length)
        values = [series.get(self.x) for series in chosen]
        if not all(isinstance(value, int | float) and value > 0 for value in values):
            raise InputError(f"x={self.x}: must be a setting in vary whose values are all numbers above 0")

    def data(self, series, metric):
        parts = [
            tabulate_runs([one])
            .query("length == @length")
            .assign(series=label(self._others(one, length)), **{self.x: one.chosen[self.x]})
            for length in self.lengths
            for one in series
        ]
        runs = pd.concat(parts)
        return aggregate_seeds(runs, ["series", self.x], metric) if len(runs) else pd.DataFrame()

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, self.x, styles=styles)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(sorted(drawn[self.x].unique())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel(SYMBOLS.get(self.x, self.x))
        axes.set_ylabel(f"{_metric(drawn).meaning}{self._describe_length()}")

    def _others(self, series: Series, length: int) -> dict[str, Any]:
        others = {key: value for key, value in series.chosen.items() if key != self.x}
        return others if len(self.lengths) == 1 else others | {"length": length}

    def _describe_length(self) -> str:
        return f"\nat length {self.lengths[0]}" if len(self.lengths) == 1 else ""


class Powers(Plot):
    """Error at the given test ``lengths`` against the exponent p of f(x) = x^p; named maps have markers.

    log x is placed at p = 0, since (x^p - 1) / p, the same map up to scale and offset, converges to it. 1/log(x + 1) is
    no power and is placed next to them.
    """

    def __init__(self, lengths: Lengths):
        self.lengths = lengths

    def check(self, chosen, test_length):
        check_lengths(self.lengths, test_length)
        beside = {key for series in chosen for key in series} - {"outrep", "outrep.p"}
        if beside:
            raise InputError(f"vary.{min(beside)}: a plot of powers can vary only outrep and outrep.p")

    def data(self, series, metric):
        runs = tabulate_runs(series)
        runs = runs[runs["length"].isin(self.lengths)]
        if runs.empty:
            return runs
        p = runs["outrep"].map(EXPONENTS)
        if "outrep.p" in runs:
            p = p.fillna(runs["outrep.p"])
        runs = runs.assign(series="length=" + runs["length"].astype(int).astype(str), p=p, map=runs["outrep"])
        return aggregate_seeds(runs, ["series", "p", "map"], metric)

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "p", every=0, styles=styles)  # markers are for the named maps
        named = drawn[drawn["map"] != "power"].fillna({"p": BESIDE})
        for row in named.to_dict("records"):
            median, p = row["median"], row["p"]
            spread = [[median - row["low"]], [row["high"] - median]] if p == BESIDE else None
            look: dict[str, Any] = {"color": styles[row["series"]].colour, "markersize": 6, "mec": "black", "lw": 1}
            axes.errorbar(p, median, spread, fmt=STYLES[row["map"]].marker, **look)
        if (named["p"] == BESIDE).any():  # off the scale, so set apart
            axes.axvline((1 + BESIDE) / 2, color="0.7", lw=0.8, linestyle=":")
        top = axes.secondary_xaxis("top")
        places = named.drop_duplicates("map")
        top.set_ticks(places["p"], [STYLES[name].label.removeprefix("plain: ") for name in places["map"]])
        axes.xaxis.set_major_locator(FixedLocator([-2, -1.5, -1, -0.5, 0, 0.5, 1]))
        axes.set_xlabel("exponent $p$ of $f(x) = x^p$")
        axes.set_ylabel(_metric(drawn).meaning)


OF_LINES = {"curves": Curves, "training": TrainingLoss, "learned": Learned, "against": Against, "powers": Powers}
PLOTS = Registry("plot", Plot, {**OF_LINES, "heat": Heat, "spread": Spread})


def _losses(series: Series) -> list[pd.DataFrame]:
    """Return the training curve of each finished run."""
    finished = [record for record in series.records if record.diverged_at is None]
    return [r.training.assign(series=series.label, id=r.config.id) for r in finished]
