"""Plots of a comparison: a panel for each combination of its facets."""

from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from synthlab.analysis import curves as plots
from synthlab.analysis.comparison import Comparison, is_numeric, sort_texts, text_of
from synthlab.analysis.curves import RC
from synthlab.analysis.looks import LINES, MARKERS, STYLES, Style, style_of
from synthlab.analysis.names import SYMBOLS, count_letters, name_setting, wrap_label
from synthlab.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_comparison(comparison: Comparison) -> "Figure":
    """Return the figure of a comparison: a panel for each combination of its facets, with remarks below."""
    import matplotlib.pyplot as plt

    points, _, metric, x, by, facet, at, remarks = comparison
    joined, places = is_numeric(points[x]), sort_texts(points[x].map(text_of))
    styles = choose_styles(points, by, joined)
    if not joined:  # series are placed side by side, in the legend's order
        aside = points["series"].map(list(styles).index) - (len(styles) - 1) / 2
        points = points.assign(place=points[x].map(places.index) + aside * min(0.12, 0.7 / len(styles)))
    panels = list(product(*(sort_texts(points[column]) for column in facet)))
    columns = points[facet[1]].nunique() if len(facet) == 2 else 2 if len(panels) == 4 else min(3, len(panels))
    rows = -(-len(panels) // columns)
    entries = [_wrap(style.label, 32) for style in styles.values()] if len(styles) > 1 else []
    legend = 0.8 + max(map(_inches, entries)) if entries else 0.0
    width, height = (5.5, 3.9) if len(panels) == 1 else (3 * columns + 0.5, 2.5 * rows + 0.4)
    shared = _is_comparable(points, facet, metric)
    note = _wrap("; ".join(remarks + ["each panel has its own scale"] * (not shared)), int(15 * (width + legend)))
    size = (width + legend, max(height, 0.19 * len(entries)) + 0.15 * note.count("\n"))
    look = {"squeeze": False, "sharex": True, "sharey": shared, "figsize": size, "layout": "constrained"}
    with plt.rc_context(RC):
        figure, grid = plt.subplots(rows, columns, **look)
        for axes, panel in zip(grid.flat, panels, strict=False):
            axes.set_title(_wrap(", ".join(map(_name_setting, facet, panel)), 40))
            drawn = points[(points[facet] == list(panel)).all(axis="columns")]
            if drawn.empty:
                axes.text(0.5, 0.5, "no runs", ha="center", va="center", transform=axes.transAxes)
            else:
                _draw_panel(axes, drawn, x, metric, styles)
                _show_zero(axes, points if shared else drawn, metric)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        _arrange_x(grid, points, x, [] if joined else places, len(panels), width)
        name = _wrap(metric.label, int(12 * height)) + (f"\nat length {at}" if at else "")
        figure.supylabel(name, fontsize="medium", multialignment="center")
        figure.supxlabel(note, fontsize="small", color="0.35")
        if entries:
            found = {line.get_label(): line for axes in grid.flat for line in axes.lines}
            where = {"loc": "outside right upper", "fontsize": "small", "handlelength": 3.2}
            figure.legend([found[name] for name in styles], entries, **where)
    return figure


def _draw_panel(axes: "Axes", drawn: pd.DataFrame, x: str, metric: Metric, styles: dict[str, Style]) -> None:
    """Plot one panel in the styles of the lab, then each series in its own; single points get bars for bands."""
    if x == "length":
        plots.draw_curves(axes, drawn.astype({"train_length": int}), metric)
    else:
        plots.draw_lines(axes, drawn, "place" if "place" in drawn else x, scale=metric.scale)
    lines, bands = list(axes.lines), list(axes.collections)
    for name, line, band in zip(dict.fromkeys(drawn["series"]), lines, bands, strict=False):
        style, own = styles[name], drawn[drawn["series"] == name]
        line.set(label=name, color=style.colour, marker=style.marker, linestyle=style.line)
        band.set_color(style.colour)
        if "place" in own:
            line.set_linestyle("none")
        if "place" in own or len(own) == 1:
            band.remove()
            spread = (own["low"] < own["high"]).to_numpy()  # bars without length confuse the scale
            axes.vlines(
                np.asarray(line.get_xdata())[spread], own["low"][spread], own["high"][spread], color=style.colour, lw=1
            )


def choose_styles(points: pd.DataFrame, by: list[str], joined: bool) -> dict[str, Style]:
    """Return each series' style.

    Encodings or maps combined with other settings keep their colour and marker; line styles distinguish the other
    settings (markers, where points are not joined). A series without other settings keeps its whole style.
    """
    series = points.drop_duplicates("series")
    styles = style_of(list(series["series"]))
    own = next((column for column in by if set(series[column]) & set(STYLES)), "")
    others = ["|".join(filter(None, values)) for values in series[[c for c in by if c != own]].to_numpy(dtype=str)]
    kinds = list(dict.fromkeys(filter(None, others)))
    if own and len(kinds) <= len(LINES):
        members = style_of(sort_texts(series[own]))
        for name, member, other in zip(series["series"], series[own], others, strict=True):
            look = members[member]._replace(label=styles[name].label)
            if other:
                kind = kinds.index(other)
                look = look._replace(line=LINES[kind]) if joined else look._replace(marker=MARKERS[kind])
            styles[name] = look
    return styles


def _is_comparable(points: pd.DataFrame, facet: list[str], metric: Metric) -> bool:
    """Return True if panels share their y-axis.

    They do not if values have signs (each panel then has its own linear part), nor if one logarithmic scale would leave
    every panel half empty.
    """
    values = points[["low", "high"]]
    is_linear = metric.scale == "linear"
    if not facet or is_linear or cast(float, values.min(axis=None)) < 0:
        return not facet or is_linear
    panel, positive = [points[column] for column in facet], values.where(values > 0)
    least, greatest = positive.min(axis=1).groupby(panel).min(), positive.max(axis=1).groupby(panel).max()
    return not np.log10(greatest.max() / least.min()) > 2 * max(np.log10(greatest / least).max(), 1)


def _show_zero(axes: "Axes", drawn: pd.DataFrame, metric: Metric) -> None:
    """Set a non-logarithmic scale where a logarithmic one would hide a 0."""
    values = drawn[["low", "high"]]
    if metric.scale == "log" and values.min(axis=None) == 0 < cast(float, values.max(axis=None)):
        axes.set_yscale("symlog", linthresh=values.where(values > 0).min(axis=None))


def _arrange_x(grid: Any, points: pd.DataFrame, x: str, names: list[str], panels: int, width: float) -> None:
    """Set the scale, ticks and label of the x-axis, which all panels share; only the lowest of each column show them.

    ``names`` are those of a setting that is no number. For numbers, ticks are omitted that would overlap the one
    before.
    """
    columns, label = grid.shape[1], "sequence length" if x == "length" else SYMBOLS.get(x, x)
    for place, each in enumerate(grid.flat):
        lowest = place + columns >= panels
        each.set(xlabel=label if lowest else "", ylabel="")
        each.tick_params(labelbottom=lowest)
    axes = grid.flat[-1]
    if x == "length":
        axes.set_xlim(0.5, points["length"].max() + 0.5)
    elif names:
        labels = [_wrap(_name_setting(x, name).removeprefix(f"{x} = "), 24) for name in names]
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_xticks(range(len(names)), labels)
        if max(map(_inches, labels)) + 0.1 > (width / columns - 0.7) / len(names):
            for each in grid.flat:
                for label in each.get_xticklabels():
                    label.set(rotation=30, horizontalalignment="right", rotation_mode="anchor")
    else:
        values = np.sort(points[x].unique()).astype(float)
        is_log = values[0] > 0 and values[-1] > 20 * values[0]
        places, free, kept = np.log(values) if is_log else values, -np.inf, {}
        for value, place in zip(values, (places - places[0]) / (np.ptp(places) or 1), strict=True):
            text = text_of(value) if len(text_of(value)) < 7 else f"{value:.2g}"
            half = (_inches(text) + 0.1) / 2 / (width / columns - 0.8)
            if place - half >= free:
                free, kept = place + half, kept | {value: text}
        if is_log:
            axes.set_xscale("log")
        axes.set_xticks(list(kept), list(kept.values()))
        axes.set_xticks([], minor=True)


def _name_setting(setting: str, value: str) -> str:
    """One setting for a reader: ``RoPE``, ``task = mean``."""
    return name_setting(setting, value) if value else f"without {SYMBOLS.get(setting, setting)}"


def _wrap(text: str, width: int) -> str:
    """Wrap ``text`` in lines of about ``width`` characters; a long word is broken unless there is a formula."""
    return wrap_label(text, width, break_long_words="$" not in text)


def _inches(label: str) -> float:
    """Return the approximate width of a label in small letters; a formula's commands have no width."""
    return 0.065 * count_letters(label)
