"""The figure of an evaluation: loss by position, and perplexity by length under each definition."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthlab.huggingface.perplexity.tables import Tables
from synthlab.styles import BLUE, DASHDOT, DASHES, DOTS, GREEN, LINES, MARKERS, PURPLE, RC, RED, Style, ramp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "disjoint": Style("disjoint: contexts 1 to $L-1$", BLUE, "-", "o"),
    "strided": Style("strided", GREEN, DASHES, "s"),
    "sliding": Style("sliding: full context", RED, DASHDOT, "^"),
    "last": Style("last: full context, sample", PURPLE, DOTS, "D"),
}
BINS = 24  # number of points of a curve of losses by position, equally spaced on its logarithmic axis


def draw_figure(found: Tables, title: str) -> "Figure":
    """Return the figure, of two panels; an empty one is omitted. At least one must have data."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = [panel for panel, table in ((_by_length, found.perplexity), (_by_position, found.positions)) if len(table)]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.4 * len(panels), 3.5), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
            panel(axes, found)
        figure.suptitle(title, fontsize="medium")
        figure.supxlabel(
            "bars: one standard error over documents; losses by context: means over neighbouring contexts",
            fontsize="small",
            color="0.35",
        )
    return figure


def _by_length(axes: "Axes", found: Tables) -> None:
    for measure, style in STYLES.items():
        rows = found.perplexity[found.perplexity["measure"] == measure]
        if len(rows):
            bars = rows["perplexity_error"].fillna(0)
            axes.errorbar(rows["length"], rows["perplexity"], bars, capsize=2, **style.line_options())
    lengths = sorted(found.perplexity["length"].unique())
    axes.set_xscale("log")
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="length $L$, tokens", ylabel="perplexity")
    _place_legend(axes)


def _by_position(axes: "Axes", found: Tables) -> None:
    lengths = sorted(found.positions["length"].unique())
    for length, colour, line, marker in zip(lengths, ramp(len(lengths)), cycle(LINES), cycle(MARKERS)):
        rows = average_bins(found.positions[found.positions["length"] == length])
        axes.plot(rows["context"], rows["loss"], **Style(f"$L$ = {length:,}", colour, line, marker).line_options())
    axes.set_xscale("log")
    axes.set(xlabel="context, tokens", ylabel="loss, nats a token")
    _place_legend(axes)


def _place_legend(axes: "Axes") -> None:
    """Place the legend above the panel: matplotlib is slow to find a place among many points."""
    where = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2, "frameon": False}
    axes.legend(fontsize="small", handlelength=3.2, **where)


def average_bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Return losses by position as means over neighbouring contexts, at most ``BINS`` of them.

    Each is placed at its mean context.
    """
    contexts = rows["context"].to_numpy()
    edges = np.unique(np.geomspace(1, contexts[-1] + 1, BINS + 1).round())
    return rows.groupby(np.searchsorted(edges, contexts, side="right"))[["context", "loss"]].mean()
