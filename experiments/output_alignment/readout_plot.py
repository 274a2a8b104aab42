"""A plot of the error against the power of the map, one line for each power by which the readout's weight falls."""

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator
from pydantic import PositiveInt

from synthlab.analysis.tables import HORIZON, aggregate_seeds, band_note, make_table, metric_of
from synthlab.errors import InputError
from synthlab.numbers.run import NumbersRun
from synthlab.studies.plots import Plot, Series, check_lengths

SETTINGS = {"encoding.q", "outrep.p"}


class ReadoutPowers(Plot):
    """Error at the test length ``length`` against the power p < 0 of f(x) = x^p.

    There is a line for each q of the encoding ``readout.Readout``, with a marker at p = -q.

    The table also counts, of finished runs, those whose outputs break near 0 and those that miss:

    - ``breaks``: at a length beyond training, up to ``length``, some output lies beyond those that decode to the
      largest answer (``evaluation.largest``);
    - ``misses``: no output does, but the relative error exceeds that of the horizon up to ``length``.
    """

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
        axes.set_ylabel(f"{metric_of([NumbersRun], drawn['metric'].iloc[0]).meaning}\nat length {self.length}")

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
