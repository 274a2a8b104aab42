"""Plots of the studies. Each shows only the table that is its CSV."""

from collections.abc import Mapping
from textwrap import fill, wrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from synthlab.analysis.correlations import WITNESSES, correlation, pearson, spearman
from synthlab.analysis.curves import band_note, draw_lines, style_of
from synthlab.studies.presentation.drawing import Drawing

LETTERS = 50  # the most characters next to and below a panel
FEW = 6  # the most series whose legend leaves space for the lines
DARK = 0.6  # from this value on the text of a cell is white
ROOM = 0.36  # space for the legend next to the points, as a fraction of their width


class Scatter(Drawing):
    """A point for each model, ``y`` against ``x``, and their correlation, with its interval over independent ``of``."""

    def __init__(self, x: str, y: str, labels: Mapping[str, str], of: str):
        self.x, self.y, self.of, self.labels = x, y, of, {name: labels[name] for name in (x, y)}

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        for name, style in style_of(list(dict.fromkeys(drawn["series"]))).items():
            rows = drawn[drawn["series"] == name]
            look: dict[str, Any] = {"color": style.colour, "label": style.label, "mfc": "none", "markersize": 5}
            axes.plot(rows[self.x], rows[self.y], style.marker, **look)
        axes.set_xlabel(fill(self.labels[self.x], LETTERS))
        axes.set_ylabel(fill(self.labels[self.y], LETTERS))
        left, right = axes.get_xlim()
        axes.set_xlim(left, right + ROOM * (right - left))
        axes.legend(fontsize="x-small", framealpha=0.85, handletextpad=0.2, loc="center right")

    def note(self, drawn: pd.DataFrame) -> str:
        linear, ranks = (correlation(drawn, self.x, self.y, WITNESSES[self.of], how) for how in (pearson, spearman))
        return (
            f"{self.labels[self.x]}: r = {linear}, by ranks {ranks}; {len(drawn)} models, 95 % intervals by the "
            f"jackknife over {drawn[WITNESSES[self.of]].nunique()} {self.of}"
        )


class Lines(Drawing):
    """A line and a band for each series over the values of ``x``, equally spaced, in their order."""

    def __init__(self, x: str, label: str, answer: str, zero: bool = False):
        self.x, self.label, self.answer, self.zero = x, label, answer, zero

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        values = list(dict.fromkeys(drawn[self.x]))
        draw_lines(axes, drawn.assign(place=drawn[self.x].map(values.index)), "place")
        _make_room(axes)
        axes.set_yscale("linear")
        axes.xaxis.set_major_locator(FixedLocator(range(len(values))))
        axes.xaxis.set_minor_locator(NullLocator())
        # Names of arms are wrapped to the width that a panel has for each.
        labels = ["\n".join(wrap(str(value), LETTERS // len(values))) for value in values]
        axes.set_xticklabels(labels, fontsize="x-small")
        if self.zero:
            axes.axhline(0, color="0.5", lw=0.8, linestyle=":")
        axes.set_xlabel(self.label)
        axes.set_ylabel(self.answer)

    def note(self, drawn: pd.DataFrame) -> str:
        return band_note(drawn)


class Contexts(Drawing):
    """A line and a band for each series against the number of tokens seen, with the training lengths shaded."""

    def __init__(self, answer: str, zero: bool = False):
        self.answer, self.zero = answer, zero

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        axes.axvspan(0, drawn["train_length"].max(), color="0.2", alpha=0.1, lw=0, zorder=0)
        draw_lines(axes, drawn, "length", every=4)
        _make_room(axes)
        axes.set_yscale("linear")
        if self.zero:
            axes.axhline(0, color="0.5", lw=0.8, linestyle=":")
        axes.set_xlim(0, drawn["length"].max())
        axes.set_xlabel("tokens seen")
        axes.set_ylabel(self.answer)

    def note(self, drawn: pd.DataFrame) -> str:
        return f"{band_note(drawn)}; training lengths are shaded"


class Cells(Drawing):
    """A table of values as coloured cells: a row for each predictor, a column for each outcome.

    A cell has the column ``value``, its interval ``ends`` if known, and the value's colour, which is darkest from 1 on.
    It is bold if the interval excludes 0.
    """

    def __init__(self, value: str, ends: tuple[str, str], note: str):
        self.value, self.ends, self.told = value, ends, note

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        rows, columns = (list(dict.fromkeys(drawn[name])) for name in ("predictor", "outcome"))
        values = drawn.pivot(index="predictor", columns="outcome", values=self.value).loc[rows, columns]
        axes.imshow(values.to_numpy(dtype=float), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for row in drawn.to_dict("records"):
            self._write(axes, columns.index(row["outcome"]), rows.index(row["predictor"]), row)
        axes.set_yticks(range(len(rows)), [name.replace("_", "\n", 1) for name in rows], fontsize="xx-small")
        axes.set_xticks(range(len(columns)), [name.replace("_", "\n", 1) for name in columns], fontsize="xx-small")
        axes.tick_params(which="both", length=0)
        axes.set_ylabel("within the training length")
        axes.set_xlabel("beyond it")
        axes.grid(visible=False)

    def note(self, drawn: pd.DataFrame) -> str:
        return self.told

    def _write(self, axes: Axes, x: int, y: int, row: dict) -> None:
        value, low, high = (row[name] for name in (self.value, *self.ends))
        axes.text(
            x,
            y,
            _in_cell(value, low, high),
            ha="center",
            va="center",
            fontsize="xx-small",
            color="white" if abs(value) > DARK else "black",
            fontweight="bold" if low > 0 or high < 0 else "normal",
        )


def _in_cell(value: float, low: float, high: float) -> str:
    if value != value:
        return "not known"
    return f"{value:.2f}\n[{low:.2f}, {high:.2f}]" if low <= high else f"{value:.2f}"


def _make_room(axes: Axes) -> None:
    """Place the legend of many series next to the panel, each name wrapped to a few words a line."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > FEW:
        told = [fill(label, LETTERS // 2) for label in labels]
        axes.legend(handles, told, fontsize="x-small", handlelength=3.2, loc="upper left", bbox_to_anchor=(1, 1))
