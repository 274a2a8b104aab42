"""Error against length, drawn. Every encoding and every map keeps one colour, line style and marker everywhere."""

import os
from itertools import cycle, islice
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from synthlab.errors import InputError
from synthlab.metrics import METRICS
from synthlab.registry import unknown
from synthlab.tables import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; line style and marker tell them apart in grey.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"


class Style(NamedTuple):
    """How a series looks and what the legend calls it."""

    label: str
    colour: str
    line: str | tuple
    marker: str


DOTS, DASHES, DASHDOT, LONG = (0, (1, 1.2)), (0, (4, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2))
STYLES = {
    "nope": Style("NoPE", ORANGE, "-", "o"),
    "alibi": Style("ALiBi", BLUE, DASHES, "s"),
    "rope": Style("RoPE", GREEN, DASHDOT, "^"),
    "learned": Style("learned", RED, DOTS, "D"),
    "sinusoidal": Style("sinusoidal", PURPLE, LONG, "v"),
    "t5": Style("T5 bias", SKY, DASHES, "P"),
    "randomized": Style("randomized", BLACK, DOTS, "X"),
    "identity": Style("plain: $x$", BLUE, "-", "o"),
    "sqrt": Style(r"$\sqrt{x}$", ORANGE, DASHES, "s"),
    "log": Style(r"$\log x$", GREEN, DASHDOT, "^"),
    "rsqrt": Style(r"$1/\sqrt{x}$", RED, "-", "D"),
    "reciprocal": Style("$1/x$", PURPLE, DOTS, "v"),
    "rlog": Style(r"$1/\log(x+1)$", SKY, LONG, "P"),
    "power": Style("$x^p$", BLACK, DASHES, "X"),
}
# For whatever has no style of its own.
OTHERS = [
    (BLUE, "-", "o"),
    (ORANGE, DASHES, "s"),
    (GREEN, DASHDOT, "^"),
    (RED, DOTS, "D"),
    (PURPLE, LONG, "v"),
    (SKY, "-", "P"),
    (BLACK, DASHES, "X"),
]


def style_of(names: list[str]) -> dict[str, Style]:
    """A style for each series: its own if it has one, else one of a cycle, in order."""
    unknown = [name for name in names if name not in STYLES]
    spare = dict(zip(unknown, islice(cycle(OTHERS), len(unknown)), strict=True))
    return {name: STYLES.get(name) or Style(name, *spare[name]) for name in names}


def draw_curves(axes: "Axes", drawn: pd.DataFrame, train_length: int, metric: str) -> None:
    """Lines and bands of ``tables.curves`` on a logarithmic scale, the training range shaded."""
    axes.axvspan(0.5, train_length + 0.5, color="0.9", lw=0, zorder=0)
    names = list(dict.fromkeys(drawn["series"]))
    for name, style in style_of(names).items():
        rows = drawn[drawn["series"] == name]
        axes.fill_between(rows["length"], rows["low"], rows["high"], color=style.colour, alpha=0.15, lw=0)
        axes.plot(
            *(rows["length"], rows["median"]),
            label=style.label,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=(names.index(name), 7),  # staggered, so that markers of close curves stay apart
            markersize=4,
            lw=1.4,
        )
    axes.set_yscale("log")
    axes.set_xlim(0.5, drawn["length"].max() + 0.5)
    axes.set_xlabel("sequence length")
    axes.set_ylabel(METRICS[metric])
    axes.legend(fontsize="small", handlelength=3.2, framealpha=0.85)


def band_note(drawn: pd.DataFrame) -> str:
    """What the lines and bands show, for a caption: the number of seeds and the meaning of the band."""
    if drawn.empty:
        return "every run diverged"
    fewest, most = drawn["seeds"].min(), drawn["seeds"].max()
    if most == 1:
        return "one seed"
    seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"median of {seeds} seeds, band from least to greatest"


def plot_table(table: pd.DataFrame, metric: str, path: str | os.PathLike | None) -> "Figure":
    """See ``results.Records.plot``."""
    import matplotlib.pyplot as plt

    if metric not in METRICS:
        raise InputError(unknown("metric", metric, METRICS))
    if table.empty or table["length"].isna().all():
        raise InputError(f"metric={metric}: there is no finished run to draw")
    drawn = curves(table, metric)
    figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
    draw_curves(axes, drawn, int(table["train_length"].max()), metric)
    axes.set_title(f"{band_note(drawn)}; trained on the shaded lengths", fontsize="small")
    if path is not None:
        figure.savefig(path)
    return figure
