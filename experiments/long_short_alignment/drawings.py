"""Plots of the studies. Each shows only the table that is its CSV."""

from collections.abc import Mapping
from textwrap import fill, wrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.correlations import WITNESSES, correlation, pearson, spearman
from experiments.long_short_alignment.run_table import SHORT
from synthlab.analysis.plotting import Drawing, draw_cells, draw_intervals, draw_lines, name_rows
from synthlab.analysis.tables import band_note, seeds_note
from synthlab.styles import Style

LETTERS = 50  # that fit beside and below a panel
FEW = 6  # series whose lines can be told apart where they cross
WORDS = 52  # letters of an arm's name that fit beside a panel


def limit_to_draw(drawn: pd.DataFrame) -> str:
    """Return the words that limit intervals over models of one seed; none if there are several."""
    return ", for this draw of weights and texts alone" if drawn["seed"].nunique() == 1 else ""


class Scatter(Drawing):
    """A point for each model, ``y`` against ``x``, and their correlation, with its interval over independent ``of``."""

    def __init__(self, x: str, y: str, labels: Mapping[str, str], of: str):
        self.x, self.y, self.of, self.labels = x, y, of, {name: labels[name] for name in (x, y)}

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        for name, rows in drawn.groupby("series", sort=False):
            style = styles[str(name)]
            look: dict[str, Any] = {"color": style.colour, "label": style.label, "mfc": "none", "markersize": 5}
            axes.plot(rows[self.x], rows[self.y], linestyle="none", marker=style.marker, **look)
        axes.set_xlabel(fill(self.labels[self.x], LETTERS))
        axes.set_ylabel(fill(self.labels[self.y], LETTERS))

    def note(self, drawn: pd.DataFrame) -> str:
        linear, ranks = (correlation(drawn, self.x, self.y, WITNESSES[self.of], how) for how in (pearson, spearman))
        return (
            f"r = {linear}, by ranks {ranks}; {len(drawn)} models, 95 % intervals by the jackknife over "
            f"{drawn[WITNESSES[self.of]].nunique()} {self.of}{limit_to_draw(drawn)}"
        )


class Lines(Drawing):
    """A line and a band for each series over the values of ``x``, which have an order, evenly apart."""

    def __init__(self, x: str, label: str, answer: str, zero: bool = False):
        self.x, self.label, self.answer, self.zero = x, label, answer, zero

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        values = list(dict.fromkeys(drawn[self.x]))
        draw_lines(axes, drawn.assign(place=drawn[self.x].map(values.index)), "place", styles, scale="linear")
        axes.xaxis.set_major_locator(FixedLocator(range(len(values))))
        axes.xaxis.set_minor_locator(NullLocator())
        # Names of arms are wrapped to the width that a panel has for each.
        labels = ["\n".join(wrap(str(value), LETTERS // len(values))) for value in values]
        axes.set_xticklabels(labels, fontsize="small")
        if self.zero:
            axes.axhline(0, color="0.5", lw=0.8, linestyle=":")
        axes.set_xlabel(self.label)
        axes.set_ylabel(self.answer)

    def note(self, drawn: pd.DataFrame) -> str:
        return band_note(drawn)


class Points(Drawing):
    """A row for each arm, with a point and its interval for each series.

    Arms have no order, so no line joins them. If only one arm is compared with the baseline ``first``, the line at 0,
    there is a row for each series instead.
    """

    height = 0.7

    def __init__(self, first: str, answer: str):
        self.first, self.answer = first, answer

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        by, shown = self._by_arm(drawn), drawn[drawn["arm"] != self.first]
        series, rows = list(dict.fromkeys(shown["series"])), list(dict.fromkeys(shown["arm" if by else "series"]))
        for order, name in enumerate(series):
            points, style = shown[shown["series"] == name], styles[name]
            aside = (order - (len(series) - 1) / 2) * min(0.16, 0.7 / len(series)) if by else 0.0
            places = [rows.index(row) + aside for row in points["arm" if by else "series"]]
            shown_as = style if by else style._replace(label="")  # named by its row
            draw_intervals(axes, places, points["median"], points["low"], points["high"], shown_as)
        name_rows(axes, [fill(row if by else styles[row].label, WORDS) for row in rows])
        axes.axvline(0, color="0.5", lw=0.8, linestyle=":")
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(self.answer)

    def note(self, drawn: pd.DataFrame) -> str:
        return f"{seeds_note(drawn)}, bar from least to greatest; dotted: {self.first}"

    def _by_arm(self, drawn: pd.DataFrame) -> bool:
        return drawn["arm"].nunique() > 2 or drawn["series"].nunique() == 1


class Contexts(Drawing):
    """A line and a band for each series against the number of tokens seen, with the training lengths shaded.

    With many series a point is the mean over one training length of tokens, without a band, since single points differ
    by the noise of the texts.
    """

    def __init__(self, answer: str, zero: bool = False):
        self.answer, self.zero = answer, zero

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        axes.axvspan(0, drawn["train_length"].max(), color="0.2", alpha=0.1, lw=0, zorder=0)
        many = self._are_many(drawn)
        every = 1 if many else 4
        draw_lines(axes, _average_spans(drawn) if many else drawn, "length", styles, every, scale="linear")
        if self.zero:
            axes.axhline(0, color="0.5", lw=0.8, linestyle=":")
        axes.set_xlim(0, drawn["length"].max())
        axes.set_xlabel("tokens seen")
        axes.set_ylabel(self.answer)

    def note(self, drawn: pd.DataFrame) -> str:
        if self._are_many(drawn):
            mean = f"each point: mean over {drawn['train_length'].max()} tokens"
            return f"{seeds_note(drawn)}; {mean}; training lengths are shaded"
        return f"{band_note(drawn)}; training lengths are shaded"

    def _are_many(self, drawn: pd.DataFrame) -> bool:
        return drawn["series"].nunique() > FEW


class Cells(Drawing):
    """A table of values as coloured cells: a row for each predictor, a column for each outcome.

    A cell has the column ``value``, its interval ``ends`` if known, and the value's colour, which is darkest from 1 on.
    It is bold if the interval excludes 0.
    """

    def __init__(self, value: str, ends: tuple[str, str], note: str):
        self.value, self.ends, self.told = value, ends, note

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        rows, columns = (list(dict.fromkeys(drawn[name])) for name in ("predictor", "outcome"))
        value, low, high = (drawn[name] for name in (self.value, *self.ends))
        texts = [_in_cell(*numbers) for numbers in zip(value, low, high, strict=True)]
        cells = drawn.assign(text=texts, bold=(low > 0) | (high < 0)).pivot(index="predictor", columns="outcome")
        values, texts, bold = (cells[name].loc[rows, columns].to_numpy() for name in (self.value, "text", "bold"))
        left, below = ([fill(str(SHORT.get(name, name)), 15) for name in of] for of in (rows, columns))
        draw_cells(axes, values.astype(float), texts, left, below, "RdBu_r", (-1, 1), bold=bold)
        axes.set_ylabel("within the training length")
        axes.set_xlabel("beyond it")

    def note(self, drawn: pd.DataFrame) -> str:
        return self.told


def _in_cell(value: float, low: float, high: float) -> str:
    if value != value:
        return "not known"
    return f"{value:.2f}\n[{low:.2f}, {high:.2f}]" if low <= high else f"{value:.2f}"


def _average_spans(drawn: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of each series as means over spans of one training length; there is no band."""
    spans = (drawn["length"] // drawn["train_length"].max()).astype(int)
    means = drawn.groupby(["series", spans.rename("span")], sort=False)[["length", "median"]].mean().reset_index()
    return means.assign(low=means["median"], high=means["median"])
