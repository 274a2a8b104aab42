"""Figures of a lesson: error by length, and outputs at a few lengths, each as a data link with an SVG."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from classroom.charts.views import View
from classroom.charts.wording import display_name
from classroom.lessons.words import unit_of
from synthlab.analysis.plotting import draw_curves
from synthlab.numbers.run import METRICS, NumbersRun
from synthlab.studies.pages import embed_data
from synthlab.styles import RC, Style

WIDTH = 7.0  # inches, of every picture
ROW = 0.35  # inches for each length in the picture of outputs
NOTE: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": "x-small", "color": "0.35"}
Span = tuple[float, float]


class Look(NamedTuple):
    """A trained run: its predictions, and the minimal and maximal target of its training.

    ``practised`` is the range on the original scale, ``mapped`` that in representation space.
    """

    config: NumbersRun
    view: View
    practised: Span
    mapped: Span
    diverged_at: int | None


class _Panel(NamedTuple):
    """Outputs of one run in one of the two spaces."""

    title: str
    space: str
    rows: list[tuple[int, np.ndarray, np.ndarray]]  # a length, its targets and its predictions, in this space
    practised: Span
    train_length: int


def error_figure(
    seen: Mapping[str, Look],
    names: Mapping[str, str],
    styles: Mapping[str, Style],
    least: Sequence[float] = (),
    limits: Span | None = None,
) -> str:
    """Return a plot of mean squared error against length, a line for each run; ``least`` is a dashed line.

    ``least`` is the minimum by theory. The scale is logarithmic between ``limits``, or linear without them.
    """
    unit = ", ".join(dict.fromkeys(unit_of(look.config.task["name"]) for look in seen.values()))
    drawn = pd.concat([_curve(series, look) for series, look in seen.items()], ignore_index=True)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        axes = figure.add_subplot()
        draw_curves(axes, drawn, METRICS["mse"], styles)
        # The rings come after the lines.
        lines = dict(zip((names[series] for series in seen), axes.get_lines(), strict=False))
        if least:
            lengths = range(1, len(least) + 1)
            (lines["the best possible, by theory"],) = axes.plot(lengths, least, color="black", dashes=(4, 2), lw=1.6)
        axes.legend(lines.values(), lines.keys(), fontsize="small", handlelength=3.2, framealpha=0.85)
        axes.set_yscale("linear" if limits is None else "log")
        axes.set_ylim(limits)
        axes.set_xlabel("sequence length (symbols)")
        axes.set_ylabel(f"mean squared error ({unit}, squared)")
        if limits is not None:  # on a linear scale its small numbers would overlap
            axes.secondary_yaxis("right", functions=(_root, np.square)).set_ylabel(f"its root: typical error ({unit})")
        return _link(figure)


def _root(values: ArrayLike) -> np.ndarray:
    return np.sqrt(np.maximum(values, 0))  # matplotlib also evaluates places left of a logarithmic axis


def _curve(series: str, look: Look) -> pd.DataFrame:
    """Return a run's error, in the form of ``tables.curves``."""
    error = look.view.error
    lengths = range(1, len(error) + 1)
    values = {"length": lengths, "median": error, "low": error, "high": error}
    return pd.DataFrame(values).assign(series=series, train_length=look.config.train_length)


def outputs_figure(shown: Mapping[str, Look], names: Mapping[str, str], styles: Mapping[str, Style]) -> str:
    """Return a plot of the predictions of runs at a few lengths.

    There is a row of dots for each length, above black bars for the targets; the range of training targets is shaded.
    For a run with a map, the original scale is left, representation space right. ``styles`` are those of all
    series of the lesson.
    """
    rows = [len(look.view.dots) for look in shown.values()]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, sum(rows) * ROW + 0.8 * len(rows)), layout="constrained")
        grid = figure.add_gridspec(len(rows), 2, height_ratios=rows)
        for row, (series, look) in enumerate(shown.items()):
            panels = _panels(names[series], look)
            for column, panel in enumerate(panels):
                place = grid[row, column] if len(panels) == 2 else grid[row, :]
                _draw(figure.add_subplot(place), panel, styles[series])
        return _link(figure)


def _panels(name: str, look: Look) -> list[_Panel]:
    dots, length = look.view.dots, look.config.train_length
    unit = unit_of(look.config.task["name"])
    answers = [(row.length, np.array(row.truth), np.array(row.answers)) for row in dots]
    plain = _Panel(f"{name}: answers", f"in plain units ({unit})", answers, look.practised, length)
    if look.config.outrep["name"] == "identity":
        return [plain]  # the outputs are the predictions
    outputs = [(row.length, np.array(row.mapped), np.array(row.outputs)) for row in dots]
    space = f"in representation space ({name_map(look.config)}, with x in {unit})"
    return [plain, _Panel(f"{name}: outputs", space, outputs, look.mapped, length)]


def name_map(config: NumbersRun) -> str:
    """Return the display name of a run's map, with the shift: ``1/(x+1)``."""
    name, shift = display_name(config.outrep["name"]), config.outrep["shift"]
    return name.replace("x", f"(x+{shift:g})") if shift else name


def _draw(axes: Axes, panel: _Panel, style: Style) -> None:
    low, high = _limits(panel)
    edge = 0.01 * (high - low)
    axes.axvspan(*panel.practised, color="0.2", alpha=0.1, lw=0, zorder=0)
    for row, (length, truth, said) in enumerate(panel.rows):
        right = np.unique(truth)
        axes.vlines(right, row + 0.2, row + 0.42, color="black", lw=1.4)
        # Spread out upwards, or equal values would hide each other; values outside are arrows at the edge.
        height = row + 0.05 - 0.35 * np.linspace(0, 1, len(said))
        inside = (low <= said) & (said <= high)
        for marker, which, x in (
            (style.marker, inside, said),
            ("<", said < low, np.full_like(said, low + edge)),
            (">", said > high, np.full_like(said, high - edge)),
        ):
            axes.plot(x[which], height[which], marker, color=style.colour, ms=4, alpha=0.6, mew=0)
        if row and length > panel.train_length >= panel.rows[row - 1][0]:
            axes.axhline(row - 0.5, color="0.4", lw=0.8, linestyle=":")
            axes.text(0.995, row - 0.46, "longer than in training", transform=axes.get_yaxis_transform(), **NOTE)
    axes.set_yticks(range(len(panel.rows)), [str(length) for length, _, _ in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.set_xlim(low, high)
    axes.set_xlabel(panel.space)
    axes.set_ylabel("length (symbols)")
    axes.set_title(panel.title)


def _limits(panel: _Panel) -> Span:
    """Return the range of all targets, and of all outputs near them."""
    asked = np.concatenate([panel.practised, *(truth for _, truth, _ in panel.rows)])
    said = np.concatenate([said for _, _, said in panel.rows])
    low, high = asked.min(), asked.max()
    margin = 0.06 * (high - low or 1.0)
    return (
        float(np.clip(said.min(), low - 4 * margin, low) - margin),
        float(np.clip(said.max(), high, high + 4 * margin) + margin),
    )


def _link(figure: Figure) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return embed_data(buffer.getvalue(), "image/svg+xml")
