"""Plots of maps: the error against the power of a map, and the parameters that a map has learned."""

from typing import Any

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator
from pydantic import PositiveInt

from synthlab.analysis.plotting import draw_lines
from synthlab.analysis.series import Settings, style_of
from synthlab.analysis.tables import HORIZON, aggregate_seeds, band_note, make_table, metric_of
from synthlab.errors import InputError
from synthlab.numbers.run import NumbersRun
from synthlab.studies.plots import AtLengths, Plot, Series, check_lengths, tabulate_runs

# The named maps that are powers, or a limit of powers; and where the other map is placed on the axis.
EXPONENTS, BESIDE = {"identity": 1.0, "sqrt": 0.5, "log": 0.0, "rsqrt": -0.5, "reciprocal": -1.0}, 1.75
SETTINGS = {"encoding.q", "outrep.p"}


class Learned(Plot):
    """The learned parameters of a map against step: a line and a band for each number of each series."""

    measures = "learned exponent"

    def data(self, series, metric):
        parts = []
        for one in series:
            losses = one.losses()
            parts += [losses.assign(series=name, value=losses[column]) for column, name, _ in _numbers(one, losses)]
        found = pd.concat(parts) if parts else pd.DataFrame()
        return found if found.empty else aggregate_seeds(found, ["series", "step"], "value")

    def settings(self, series):
        return {name: settings for one in series for _, name, settings in _numbers(one, one.losses())}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", styles, every=0.12, scale="linear")
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")


def _numbers(one: Series, losses: pd.DataFrame) -> list[tuple[str, str, Settings]]:
    """Return the column of each number that a map has learned, the name of its series and its settings."""
    names = [str(name) for name in losses if name not in ("step", "loss", "series", "id", "diverged", "fit")]
    if len(names) == 1:
        return [(names[0], one.label, one.chosen)]
    return [(each, f"{one.label}, {each}", one.chosen | {"exponent": each.rpartition("_")[2]}) for each in names]


class Powers(AtLengths):
    """Error at the given test ``lengths`` against the exponent p of f(x) = x^p; named maps have markers.

    log x is placed at p = 0, since (x^p - 1) / p, the same map up to scale and offset, converges to it. 1/log(x + 1) is
    no power and is placed next to them.
    """

    def check(self, chosen, test_length):
        super().check(chosen, test_length)
        others = {key for series in chosen for key in series} - {"outrep", "outrep.p"}
        if others:
            raise InputError(f"vary.{min(others)}: a plot of powers can vary only outrep and outrep.p")

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

    def settings(self, series):
        return {f"length={length}": {"length": length} for length in self.lengths}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "p", styles, every=0)  # markers are for the named maps
        named = drawn[drawn["map"] != "power"].fillna({"p": BESIDE})
        for row in named.to_dict("records"):
            median, p = row["median"], row["p"]
            spread = [[median - row["low"]], [row["high"] - median]] if p == BESIDE else None
            look: dict[str, Any] = {"color": styles[row["series"]].colour, "markersize": 6, "mec": "black", "lw": 1}
            axes.errorbar(p, median, spread, fmt=style_of(row["map"]).marker, **look)
        if (named["p"] == BESIDE).any():  # off the scale, so set apart
            axes.axvline((1 + BESIDE) / 2, color="0.7", lw=0.8, linestyle=":")
        top = axes.secondary_xaxis("top")
        places = named.drop_duplicates("map")
        top.set_ticks(places["p"], [style_of(name).label.removeprefix("plain: ") for name in places["map"]])
        axes.xaxis.set_major_locator(FixedLocator([-2, -1.5, -1, -0.5, 0, 0.5, 1]))
        axes.set_xlabel("exponent $p$ of $f(x) = x^p$")
        axes.set_ylabel(_name_metric(drawn))


class ReadoutPowers(Plot):
    """Error at the test length ``length`` against the power p < 0 of f(x) = x^p.

    There is a line for each q of the encoding ``readout.Readout``, with a marker at p = -q.

    The table also counts, of finished runs, those whose outputs break near 0 and those that miss:

    - ``breaks``: at a length beyond training, up to ``length``, some output lies beyond those that decode to the
      largest answer (``evaluation.largest``);
    - ``misses``: no output does, but the relative error exceeds that of the horizon up to ``length``.
    """

    height = 0.8

    def __init__(self, length: PositiveInt):
        self.length = length

    def check(self, chosen, test_length):
        check_lengths([self.length], test_length)
        for series in chosen:
            if set(series) != SETTINGS or not series["outrep.p"] < 0:
                raise InputError(f"name=readout: vary must set {' and '.join(sorted(SETTINGS))}, the latter below 0")

    def data(self, series, metric):
        runs = pd.concat([_tabulate(one) for one in series])
        within = runs[runs["length"] <= self.length]
        beyond = within[within["length"] > within["train_length"]]
        broken = set(beyond.loc[beyond["clipped"] > 0, "id"])
        last = within[within["length"] == self.length]
        if last.empty:
            return last
        breaks = last["id"].isin(broken)
        last = last.assign(breaks=breaks, misses=~breaks & (last[HORIZON] < self.length))
        counts = last.groupby(["q", "p"])[["breaks", "misses"]].sum().reset_index()
        return aggregate_seeds(last, ["q", "p"], metric).merge(counts, on=["q", "p"])

    def settings(self, series):
        return {f"q={q:g}": {"q": q} for q in sorted({one.chosen["encoding.q"] for one in series})}

    def paint(self, axes, drawn, styles):
        for q in sorted(drawn["q"].unique()):
            rows = drawn[drawn["q"] == q]
            label, colour, line, marker = styles[f"q={q:g}"]
            axes.fill_between(-rows["p"], rows["low"], rows["high"], color=colour, alpha=0.12, lw=0)
            axes.plot(-rows["p"], rows["median"], color=colour, linestyle=line, lw=1.4)
            axes.plot([], [], color=colour, linestyle=line, marker=marker, markersize=5, label=label)
            for broken, face in ((False, colour), (True, "white")):
                some = rows[(rows["breaks"] > 0) == broken]
                axes.plot(-some["p"], some["median"], marker, color=colour, mfc=face, markersize=5)
            axes.axvline(q, color=colour, linestyle=":", lw=1.2, zorder=0)
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        low = min(low, high / 10)  # what is flat looks flat
        axes.set_ylim(low, high * (high / low) ** 0.05)
        powers = sorted(-drawn["p"].unique())
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.xaxis.set_major_locator(FixedLocator(powers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(powers, [f"{-power:g}" for power in powers], fontsize="small")
        axes.set_xlabel("power $p$ of $f(x) = x^p$")
        axes.set_ylabel(f"{_name_metric(drawn)}\nat length {self.length}")

    def note(self, drawn):
        return (
            f"{band_note(drawn)}; dotted: the power -q that the account predicts; open markers: "
            f"some seed breaks near 0; q: the power by which the weight falls; trained on lengths up to "
            f"{drawn['train_length'].max()}"
        )


def _tabulate(series: Series) -> pd.DataFrame:
    """Return the runs of a series at each length, with q and p."""
    rows = series.count_runs(make_table(series.records))
    return rows.assign(q=series.chosen["encoding.q"], p=series.chosen["outrep.p"])


def _name_metric(drawn: pd.DataFrame) -> str:
    return metric_of([NumbersRun], drawn["metric"].iloc[0]).meaning
