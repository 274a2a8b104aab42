"""Figures of the theory's tables."""

from collections.abc import Mapping
from typing import cast

import pandas as pd
from matplotlib.axes import Axes

from synthlab.analysis.plotting import Drawing
from synthlab.analysis.series import style_of
from synthlab.styles import BLACK, BLUE, DASHES, DOTS, GREEN, ORANGE, PURPLE, RED, Style

# Exact errors are plotted as lines, errors of trained models as markers.
PAPER = Style("paper's optimum", BLACK, DASHES, "")
HEADS = {1: Style("1", BLUE, "-", "s"), 2: Style("2", ORANGE, "-", "o"), 8: Style("8", RED, "-", "x")}
OTHER_HEAD = Style("another", PURPLE, "-", "D")
SOFTMAX = Style("softmax Transformer, trained", GREEN, DOTS, "^")
FLOOR = 1e-9  # errors below, which are rounding errors of 0, are drawn here


class Optima(Drawing):
    """Error against length on one task: the exact optima of linear attention, the paper's, and trained models."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        _shade(axes, drawn)
        linear, softmax = drawn[drawn["model"] == "linear"], drawn[drawn["model"] == "softmax"]
        _draw_heads(axes, linear, step=7)
        one = linear[linear["head_dim"] == linear["head_dim"].min()]
        axes.plot(
            one["length"], one["paper"].clip(lower=FLOOR), color=PAPER.colour, linestyle=PAPER.line, label=PAPER.label
        )
        if len(softmax):
            _plot_marked(axes, softmax, SOFTMAX, every=(5, 7), label=SOFTMAX.label, line=True)
        _finish(axes, drawn)

    def note(self, drawn: pd.DataFrame) -> str:
        return (
            f"trained on the shaded lengths; marks: median of {int(drawn['seeds'].max())} seeds, bars from least to "
            f"greatest; lines: exact; errors below {FLOOR:g} are drawn there"
        )


class OverPaper(Drawing):
    """The errors of linear attention divided by those of the paper's optimum: ratios that a log scale would hide."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        _shade(axes, drawn)
        linear = drawn[(drawn["model"] == "linear") & (drawn["length"] > drawn["train_length"])]
        over = linear.assign(**{name: linear[name] / linear["paper"] for name in ("exact", "median", "low", "high")})
        _draw_heads(axes, over, step=5)
        axes.axhline(1, color=PAPER.colour, linestyle=PAPER.line, lw=1, label=PAPER.label)
        axes.set_xlim(0.5, drawn["length"].max() + 0.5)
        axes.set_xlabel("sequence length")
        axes.set_ylabel("error / error of the paper's optimum")

    def note(self, drawn: pd.DataFrame) -> str:
        return "over the paper's: lengths beyond training alone"


class Maps(Drawing):
    """Error against length on the length task under maps: exact lines, trained markers."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        _shade(axes, drawn)
        for turn, (outrep, rows) in enumerate(drawn.groupby("outrep", sort=False)):
            style, shift = style_of(str(outrep)), int(rows["shift"].iloc[0])
            label = style.label.removeprefix("plain: ") + (f", shift {shift}" if shift else "")
            axes.plot(
                rows["length"], rows["exact"].clip(lower=FLOOR), color=style.colour, linestyle=style.line, label=label
            )
            if rows["median"].notna().any():
                _plot_marked(axes, rows, style, every=(2 * turn, 7), label=None)
        _finish(axes, drawn)

    def note(self, drawn: pd.DataFrame) -> str:
        return (
            f"lines: exact; marks: trained, median of {int(drawn['seeds'].max())} seeds, bars from least to greatest; "
            f"trained on the shaded lengths; errors below {FLOOR:g} are drawn there"
        )


class Bounds(Drawing):
    """Theorem 1 on the trained language model: the error and its bounds, against test length."""

    LINES = (
        ("error", "error", BLUE, "-", "o"),
        ("printed", "bound as printed", RED, DASHES, "s"),
        ("corrected", "bound, corrected", ORANGE, "-", "D"),
        ("sharper", "bound without misalignment", GREEN, DOTS, "^"),
    )

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        by_length = drawn.groupby("length")
        for column, label, colour, line, marker in self.LINES:
            median = by_length[column].median()
            axes.fill_between(
                median.index, by_length[column].min(), by_length[column].max(), color=colour, alpha=0.15, lw=0
            )
            axes.plot(median.index, median, label=label, color=colour, linestyle=line, marker=marker, markersize=4)
        axes.axhline(1, color="0.5", lw=0.8, linestyle=":", label="error of answering 0")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("test length")
        axes.set_ylabel("mean squared distance")

    def note(self, drawn: pd.DataFrame) -> str:
        return f"{_models(drawn)}, trained on windows of up to {int(drawn['train_length'].max())} tokens"


class Ratio(Drawing):
    """C1/C2 against test length."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        ratio = drawn.groupby("length")["ratio"].first()
        axes.plot(ratio.index, ratio, color=BLUE, marker="o", markersize=4)
        axes.axhline(0.5, color="0.5", lw=0.8, linestyle=":")
        axes.annotate("its limit, 1/2", (ratio.index[0], 0.5), fontsize="small", va="bottom")
        axes.set_xscale("log", base=2)
        axes.set_ylim(0, 0.56)
        axes.set_xlabel("test length")
        axes.set_ylabel("$C_1 / C_2$")

    def note(self, drawn: pd.DataFrame) -> str:
        return "the ratio is the same as printed and corrected"


def _draw_heads(axes: Axes, linear: pd.DataFrame, step: int) -> None:
    """Plot the trained models of each head dimension as markers, at every ``step``-th length, and the optima as lines.

    The two optima are those of head dimension 1, and of 2 or more.
    """
    first_of_more = min((dim for dim in linear["head_dim"].unique() if dim > 1), default=1)
    for group, rows in linear.groupby("head_dim"):
        head_dim = int(cast(int, group))
        style = HEADS.get(head_dim, OTHER_HEAD)
        if head_dim in (1, first_of_more):
            label = "exact, head dimension 1" if head_dim == 1 else "exact, 2 or more"
            axes.plot(rows["length"], rows["exact"].clip(lower=FLOOR), color=style.colour, lw=1.4, label=label)
        _plot_marked(axes, rows, style, every=(3 * head_dim % step, step), label=f"trained, {head_dim}")


def _models(drawn: pd.DataFrame) -> str:
    seeds = drawn["seed"].nunique()
    return "one model" if seeds == 1 else f"median of {seeds} models, band from least to greatest"


def _shade(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.axvspan(0.5, drawn["train_length"].max() + 0.5, color="0.2", alpha=0.1, lw=0, zorder=0)


def _plot_marked(
    axes: Axes, rows: pd.DataFrame, style: Style, every: tuple[int, int], label: str | None, line: bool = False
):
    start, step = every
    median, low, high = (rows[name].clip(lower=FLOOR) for name in ("median", "low", "high"))
    if line:
        axes.plot(rows["length"], median, color=style.colour, linestyle=style.line, lw=1.2)
    few = slice(start, None, step)
    axes.errorbar(
        rows["length"].iloc[few],
        median.iloc[few],
        ((median - low).iloc[few], (high - median).iloc[few]),
        fmt=style.marker,
        color=style.colour,
        markersize=5,
        mfc="none",
        lw=1,
        label=label,
    )


def _finish(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.set_yscale("log")
    axes.set_xlim(0.5, drawn["length"].max() + 0.5)
    axes.set_xlabel("sequence length")
    axes.set_ylabel("mean squared error, original scale")
