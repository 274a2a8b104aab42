"""Plots of error against length."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from synthlab.analysis.looks import Style, style_of
from synthlab.analysis.tables import curves, find_lacking, kinds_of, metric_of, primary_of
from synthlab.config.picture_files import check_picture, save_picture
from synthlab.config.registry import describe_unknown
from synthlab.errors import InputError
from synthlab.metrics import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

# Text stays text in the PDF, and files do not depend on the time.
RC: "dict[RcKeyType, Any]" = {
    "pdf.fonttype": 42,
    "svg.hashsalt": "synthlab",
    "font.size": 9,
    "axes.titlesize": 9,
    "savefig.dpi": 160,
}


def draw_lines(
    axes: "Axes",
    drawn: pd.DataFrame,
    x: str,
    every: int | float = 1,
    scale: str = "log",
    styles: Mapping[str, Style] | None = None,
) -> None:
    """Plot a line of medians and a band from ``low`` to ``high`` for each series, against the column ``x``.

    The scale is ``linear`` or ``log``. Each ``every``-th point has a marker or, for a fraction, each such part of the
    axes' diagonal; 0 means no markers. Markers of different series are staggered, so that those of close curves stay
    apart. ``styles`` are those of the series; None for their own.
    """
    names = list(dict.fromkeys(drawn["series"]))
    styles = style_of(names) if styles is None else styles
    for name in names:
        rows, style = drawn[drawn["series"] == name], styles[name]
        axes.fill_between(rows[x], rows["low"], rows["high"], color=style.colour, alpha=0.15, lw=0)
        options: dict[str, Any] = style.line_options() | {"markevery": _markers(names.index(name), len(names), every)}
        if not every:
            options["marker"] = None
        axes.plot(rows[x], rows["median"], **options)
    if scale == "log":
        _scale(axes, drawn)


def _scale(axes: "Axes", drawn: pd.DataFrame) -> None:
    """Set a logarithmic y-axis if some values are positive and none negative.

    With negative values it is logarithmic down to a thousandth of the largest value, and linear within.
    """
    largest = cast(float, drawn[["low", "high"]].abs().max(axis=None))
    if drawn["low"].min() < 0:
        axes.set_yscale("symlog", linthresh=largest / 1000)
    elif largest > 0:
        axes.set_yscale("log")


def _markers(order: int, of: int, every: int | float) -> tuple | list:
    if not every:
        return []
    return (order % every if isinstance(every, int) else every * order / of), every


def draw_curves(axes: "Axes", drawn: pd.DataFrame, metric: Metric, styles: Mapping[str, Style] | None = None) -> None:
    """Lines and bands of ``tables.curves`` on the metric's scale, the training lengths shaded.

    Where series were trained to different lengths, each range is shaded over the others and a ring on the curve marks
    its end.
    """
    trained = sorted(drawn["train_length"].unique())
    for length in trained:
        axes.axvspan(0.5, length + 0.5, color="0.2", alpha=0.1 if len(trained) == 1 else 0.05, lw=0, zorder=0)
    draw_lines(axes, drawn, "length", every=7, scale=metric.scale, styles=styles)
    if len(trained) > 1:
        ends = drawn[drawn["length"] == drawn["train_length"]]
        axes.plot(ends["length"], ends["median"], "o", markersize=8, mfc="none", mec="black", mew=1, zorder=3)
    axes.set_xlim(0.5, drawn["length"].max() + 0.5)
    axes.set_xlabel("sequence length")
    axes.set_ylabel(metric.meaning)


def seeds_note(drawn: pd.DataFrame) -> str:
    """Return the number of seeds of each point, for a caption."""
    fewest, most = drawn["seeds"].min(), drawn["seeds"].max()
    if most == 1:
        return "one seed"
    return f"median of {most if fewest == most else f'{fewest} to {most}'} seeds"


def band_note(drawn: pd.DataFrame) -> str:
    """Return the meaning of lines and bands, for a caption: the number of seeds and the range of the band."""
    note = seeds_note(drawn)
    return note if note == "one seed" else f"{note}, band from least to greatest"


def plot_table(table: pd.DataFrame, metric: str | None, path: str | os.PathLike[str] | None) -> "Figure":
    """Plot a table of runs: see ``record_list.Records.plot``."""
    import matplotlib.pyplot as plt

    check_picture("path", path)
    if table.empty or table["length"].isna().all():
        raise InputError("records: there is no finished run to plot")
    kinds = kinds_of(table)
    metric = primary_of(kinds) if metric is None else metric
    known = dict.fromkeys(name for kind in kinds for name in kind.measures().metrics)
    if metric not in known:
        raise InputError(describe_unknown("metric", metric, known))
    measured = metric_of(kinds, metric)
    drawn = curves(table[~table["kind"].isin(find_lacking(kinds, metric))], metric)
    figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
    draw_curves(axes, drawn, measured)
    axes.set_ylabel(measured.label)
    if (names := axes.get_legend_handles_labels()[1]) and len(names) > 1:
        columns = max(1, int(80 / (max(map(len, names)) + 10)))
        figure.set_figheight(4 + 0.2 * -(-len(names) // columns))
        figure.legend(loc="outside lower center", ncols=columns, fontsize="small", handlelength=3.2, frameon=False)
    axes.set_title(f"{band_note(drawn)}; trained on the shaded lengths", fontsize="small")
    save_picture(figure, "path", path)
    return figure
