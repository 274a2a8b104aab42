"""Plots of a comparison: a panel for each combination of its facets."""

from collections.abc import Mapping
from itertools import product
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from synthlab.analysis.comparison import Comparison, sort_texts
from synthlab.analysis.gathering import is_numeric, text_of
from synthlab.analysis.plotting import LETTER, DataPanel, Drawing, draw_curves, draw_intervals, draw_lines, draw_sheet
from synthlab.analysis.plotting import wrap_label as wrap
from synthlab.analysis.series import SYMBOLS, name_setting
from synthlab.errors import InputError
from synthlab.runs.registry import describe_unknown
from synthlab.styles import RC, Style

MAX_TICKS = 8  # the most values of a setting that are ticks
LABEL_INCHES = 3.5  # inches for the names of settings below a panel


def draw_comparison(comparison: Comparison, labels: Mapping[str, str] | None = None) -> Figure:
    """Return the figure of a comparison: a panel for each combination of its facets, with remarks below.

    ``labels`` gives other names to values, by what the figure calls them. Raises InputError for one that it lacks.
    """
    import matplotlib.pyplot as plt

    points, facet = comparison.points, comparison.facet
    shared = _is_comparable(comparison)
    remarks = comparison.remarks + ["each panel has its own scale"] * (not shared)
    drawing = Points(comparison._replace(remarks=remarks), labels or {})
    panels = []
    for values in product(*(sort_texts(points[column]) for column in facet)):
        title = drawing.rename(", ".join(map(_name_setting, facet, values)))
        rows = points[(points[facet] == list(values)).all(axis="columns")]
        panels.append(DataPanel(title, drawing, rows, comparison.series))
    columns = points[facet[1]].nunique() if len(facet) == 2 else 2 if len(panels) == 4 else min(3, len(panels))
    with plt.rc_context(RC):
        figure = draw_sheet("", panels, columns, plt.figure(), sharex=True, sharey=shared)
    if unknown := [name for name in drawing.labels if name not in drawing.named]:
        plt.close(figure)
        raise InputError(*(describe_unknown("label", name, sorted(drawing.named)) for name in unknown))
    return figure


class Points(Drawing):
    """The points of a comparison: joined over numbers, side by side in the legend's order over anything else."""

    empty = "no runs"

    def __init__(self, comparison: Comparison, labels: Mapping[str, str]):
        self.asked, self.labels = comparison, labels
        self.named: set[str] = set()  # what ``rename`` was asked for
        self.names = [] if is_numeric(comparison.points[comparison.x]) else sort_texts(comparison.points[comparison.x])

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        metric, x, at = self.asked.measured, self.asked.x, self.asked.at
        styles = {name: style._replace(label=self.rename(style.label)) for name, style in styles.items()}
        if x == "length":
            draw_curves(axes, drawn.astype({"train_length": int}), metric, styles)
        elif self.names:
            series = list(self.asked.series)
            for order, name in enumerate(series):
                rows = drawn[drawn["series"] == name]
                aside = (order - (len(series) - 1) / 2) * min(0.12, 0.7 / len(series))
                places = [self.names.index(each) + aside for each in rows[x]]
                draw_intervals(axes, places, rows["median"], rows["low"], rows["high"], styles[name], upright=True)
        else:
            draw_lines(axes, drawn, x, styles, scale=metric.scale)
        self._arrange_x(axes)
        values = drawn[["low", "high"]].to_numpy()
        if metric.scale == "log" and values.min() == 0 < values.max():
            axes.set_yscale("symlog", linthresh=values[values > 0].min())  # shows a 0
        elif metric.scale == "log" and self.names and values.min() > 0:
            axes.set_yscale("log")
        axes.set_ylabel(wrap(metric.label, 32) + (f"\nat length {at}" if at else ""))

    def rename(self, text: str) -> str:
        """Return the text of a legend, title or tick with the labels of its parts: ``RoPE``, ``task = mean``."""
        names = [part.rpartition(" = ") for part in text.split(", ")]
        self.named |= {value for _, _, value in names}
        return ", ".join(self.labels.get(value, f"{key}{equals}{value}") for key, equals, value in names)

    def note(self, drawn: pd.DataFrame) -> str:
        return "; ".join(self.asked.remarks)

    def _arrange_x(self, axes: Axes) -> None:
        """Set the limits or the ticks of the x-axis, which all panels share, and its label."""
        points, x = self.asked.points, self.asked.x
        if x == "length":
            axes.set_xlim(0.5, points["length"].max() + 0.5)
            return
        axes.set_xlabel(SYMBOLS.get(x, x))
        if self.names:
            labels = [wrap(self.rename(_name_setting(x, name).removeprefix(f"{x} = ")), 24) for name in self.names]
            turned = LETTER * sum(map(len, labels)) > LABEL_INCHES
            axes.set_xlim(-0.5, len(labels) - 0.5)
            axes.set_xticks(range(len(labels)), labels, **({"rotation": 30, "ha": "right"} if turned else {}))
            return
        values = np.sort(points[x].unique()).astype(float)
        if values[0] > 0 and values[-1] > 20 * values[0]:
            axes.set_xscale("log")
        if len(values) <= MAX_TICKS:
            axes.set_xticks(values, [text_of(value) if len(text_of(value)) < 7 else f"{value:.2g}" for value in values])
            axes.set_xticks([], minor=True)


def _is_comparable(comparison: Comparison) -> bool:
    """Return True if panels share their y-axis: they do not if values on a logarithmic one have signs."""
    is_linear = not comparison.facet or comparison.measured.scale == "linear"
    return is_linear or cast(float, comparison.points["low"].min()) >= 0


def _name_setting(setting: str, value: str) -> str:
    """Return one setting for a reader: ``RoPE``, ``task = mean``."""
    return name_setting(setting, value) if value else f"without {SYMBOLS.get(setting, setting)}"
