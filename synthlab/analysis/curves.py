"""Plots of error against length. Each encoding and each map has one colour, line style and marker everywhere."""

import os
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pandas as pd

from synthlab.analysis.columns import find_lacking, kinds_of, metric_of, primary_of
from synthlab.analysis.tables import curves
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
# Okabe and Ito's colours, distinguishable by colour-blind readers; line style and marker distinguish them in grey.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
# From Tol's muted scheme, where those seven are used.
INDIGO, WINE, OLIVE, GREY = "#332288", "#882255", "#999933", "#777777"
TEAL, ROSE, FOREST, SAND = "#44AA99", "#CC6677", "#117733", "#DDCC77"
BROWN, PLUM, NAVY, STEEL = "#663300", "#AA4499", "#003366", "#6699CC"  # from no scheme


class Style(NamedTuple):
    """The style of a series, and its name in the legend."""

    label: str
    colour: str
    line: str | tuple
    marker: str

    def line_options(self) -> dict[str, Any]:
        """Return the arguments of ``Axes.plot``."""
        return {
            "label": self.label,
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markersize": 4,
            "lw": 1.4,
        }


DOTS, DASHES, DASHDOT, LONG = (0, (1, 1.2)), (0, (4, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2))
STYLES = {
    "nope": Style("NoPE", ORANGE, "-", "o"),
    "alibi": Style("ALiBi", BLUE, DASHES, "s"),
    "rope": Style("RoPE", GREEN, DASHDOT, "^"),
    "partial_rope": Style("partial RoPE", STEEL, DOTS, "4"),
    "pi": Style("PI", INDIGO, LONG, "<"),
    "ntk": Style("NTK", OLIVE, DOTS, ">"),
    "yarn": Style("YaRN", WINE, "-", "p"),
    "eabf": Style("EABF", GREY, DASHES, "*"),
    "clex": Style("CLEX", TEAL, "-", "h"),
    "dynamic_ntk": Style("dynamic NTK", BROWN, DASHDOT, "d"),
    "longrope": Style("LongRoPE", ROSE, DASHES, "8"),
    "self_extend": Style("Self-Extend", PLUM, "-", "H"),
    "rerope": Style("ReRoPE", FOREST, DASHES, "3"),
    "leaky_rerope": Style("leaky ReRoPE", SAND, DASHDOT, "2"),
    "dual_chunk": Style("dual chunk", NAVY, DOTS, "1"),
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
    "box_cox": Style("learned power (Box-Cox)", INDIGO, "-", "*"),
    "monotone": Style("learned chain of powers", TEAL, DASHDOT, "h"),
    "chosen": Style("chosen", GREY, DASHES, "p"),
}
# For series without a style of their own: 7 colours, with other lines and markers in each cycle.
OTHERS = [
    (colour, line, marker)
    for turn in range(5)
    for colour, line, marker in zip(
        (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK),
        islice(cycle(("-", DASHES, DASHDOT, DOTS, LONG)), turn, turn + 7),
        islice(cycle("os^DvPX"), turn, turn + 7),
        strict=True,
    )
]


# The symbols of settings in figures.
SYMBOLS = {
    "train_length": r"$l_\mathrm{train}$",
    "length": "test length",
    "step": "training step",
    "outrep.p": "exponent $p$",
    "model.width": "width",
    "model.depth": "layers",
    "protocol.steps": "training steps",
    "protocol.lr": "learning rate",
    "protocol.momentum": "momentum",
    "protocol.optimizer": "optimizer",
    "protocol.beta2": r"$\beta_2$",
    "protocol.weight_decay": "weight decay",
    "protocol.clip": "gradient clipping",
    "protocol.schedule": "schedule",
    "curriculum.start": "curriculum start",
    "model.init_scale": "initial scale",
}


def style_of(names: list[str]) -> dict[str, Style]:
    """Return a style for each series: its own if it has one, else the next of a cycle, unused colours first."""
    unknown = [name for name in names if name not in STYLES]
    taken = {STYLES[name].colour for name in names if name in STYLES}
    others = sorted(OTHERS, key=lambda look: look[0] in taken)
    spare = dict(zip(unknown, islice(cycle(others), len(unknown)), strict=True))
    return {name: STYLES.get(name) or Style(_label(name), *spare[name]) for name in names}


def _label(series: str) -> str:
    """Return ``encoding=rope train_length=5`` in a form for readers."""
    pairs = [word.partition("=") for word in series.split(" ")]
    if not all(equals for _, equals, _ in pairs):
        return series
    return ", ".join(STYLES[v].label if v in STYLES else f"{SYMBOLS.get(k, k)} = {v}" for k, _, v in pairs)


def plain_label(name: str) -> str:
    """Return a series' label without mathematical typesetting: ``1/sqrt(x)``."""
    label = STYLES[name].label if name in STYLES else name.replace("=", " = ")
    return label.removesuffix(": $x$").replace(r"\sqrt{x}", "sqrt(x)").replace("$", "").replace("\\", "")


def draw_lines(axes: "Axes", drawn: pd.DataFrame, x: str, every: int | float = 1, scale: str = "log") -> None:
    """Plot a line of medians and a band from ``low`` to ``high`` for each series, against the column ``x``.

    The scale is ``linear`` or ``log``. Each ``every``-th point has a marker or, for a fraction, each such part of the
    axes' diagonal; 0 means no markers. Markers of different series are staggered, so that those of close curves stay
    apart.
    """
    names = list(dict.fromkeys(drawn["series"]))
    for name, style in style_of(names).items():
        rows = drawn[drawn["series"] == name]
        axes.fill_between(rows[x], rows["low"], rows["high"], color=style.colour, alpha=0.15, lw=0)
        options: dict[str, Any] = style.line_options() | {"markevery": _markers(names.index(name), len(names), every)}
        if not every:
            options["marker"] = None
        axes.plot(rows[x], rows["median"], **options)
    if scale == "log":
        _scale(axes, drawn)
    axes.legend(fontsize="small", handlelength=3.2, framealpha=0.85)


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


def draw_curves(axes: "Axes", drawn: pd.DataFrame, metric: Metric) -> None:
    """Plot lines and bands of ``tables.curves`` on the metric's scale, with the training lengths shaded.

    Where series were trained to different lengths, each range is shaded over the others and a ring on the curve marks
    its end.
    """
    trained = sorted(drawn["train_length"].unique())
    for length in trained:
        axes.axvspan(0.5, length + 0.5, color="0.2", alpha=0.1 if len(trained) == 1 else 0.05, lw=0, zorder=0)
    draw_lines(axes, drawn, "length", every=7, scale=metric.scale)
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
    axes.set_title(f"{band_note(drawn)}; trained on the shaded lengths", fontsize="small")
    save_picture(figure, "path", path)
    return figure
