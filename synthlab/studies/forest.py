"""Forest plots: the interval of each check of a verdict against its threshold.

Checks of one quantity and one threshold share an axis, in units of what is measured; others have axes of their own
below. Marks and words tell the answers apart without colours.
"""

from collections.abc import Sequence
from io import BytesIO
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from synthlab.analysis.plotting import draw_intervals, name_rows
from synthlab.studies.checks import Answer, Check
from synthlab.studies.pages import embed_data
from synthlab.studies.verdicts import Verdict
from synthlab.styles import RC, Style

WIDTH, ROW, PANEL = 8.6, 0.24, 0.55  # inches: the picture, a line of a row, what a panel has above and below its rows
LETTERS = 45  # the most characters of a check's name in a line
DECADE = 10.0  # positive numbers with a larger ratio than this get a logarithmic axis
WANTED, OPEN = "#dbe9f4", Style("", "#595959", "", "s")
ANSWERS: dict[Answer, Style] = {"holds": Style("", "#00568a", "", "o"), "fails": Style("", "#a33a00", "", "X")}


def forest(verdict: Verdict) -> str:
    """Return the plot of a verdict's checks, as a link that contains an SVG. The same checks give the same bytes."""
    picture = BytesIO()
    with mpl.rc_context(RC):
        draw_forest(verdict.checks).savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    return embed_data(picture.getvalue(), "image/svg+xml")


def draw_forest(checks: Sequence[Check]) -> Figure:
    """Return the plot of checks, with an axis for each quantity and threshold, in the order of their first checks."""
    groups: dict[tuple[str, tuple[float, ...]], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.what.partition(": ")[2], check.thresholds), []).append(check)
    lines = [sum(1 + _name(check).count("\n") for check in group) for group in groups.values()]
    figure = Figure(figsize=(WIDTH, ROW * sum(lines) + PANEL * len(lines)), layout="constrained")
    grid = figure.subplots(len(groups), 1, squeeze=False, height_ratios=lines)
    for axes, ((title, _), group) in zip(grid[:, 0], groups.items(), strict=True):
        _draw_panel(axes, group)
        axes.set_title(title.replace("$", r"\$"), loc="left", fontweight="bold", pad=14)
    return figure


def _draw_panel(axes: Axes, checks: Sequence[Check]) -> None:
    thresholds = checks[0].thresholds
    start, end = _set_scale(axes, [*(value for check in checks for value in check.measured), *thresholds])
    for y, check in enumerate(checks):
        style = ANSWERS.get(check.answer, OPEN)
        low, high, _ = np.clip(check.interval, start, end)
        axes.fill_betweenx(
            [y - 0.5, y + 0.5], *np.clip([check.low, check.high], start, end), color=WANTED, lw=0, zorder=0
        )
        axes.plot(np.clip(check.measured, start, end), [y] * len(check.measured), "|", color=style.colour, ms=11)
        draw_intervals(axes, y, np.clip(check.median, start, end), low, high, style, width=2.5)
        answer = check.answer + ("" if low <= high else ": no number")
        axes.text(1.01, y, answer, transform=axes.get_yaxis_transform(), va="center", color=style.colour)
    name_rows(axes, [_name(check) for check in checks])
    for bound, side in zip(thresholds, ("right", "left") if len(thresholds) == 2 else ("center",), strict=False):
        axes.axvline(bound, color="black", zorder=1, lw=1.3)
        look: dict[str, Any] = {"fontsize": "small", "fontweight": "bold", "ha": side, "va": "bottom"}
        axes.annotate(f"{bound:g}", (bound, 1), xycoords=("data", "axes fraction"), annotation_clip=False, **look)
    axes.spines[["left", "right", "top"]].set_visible(False)


def _set_scale(axes: Axes, values: Sequence[float]) -> tuple[float, float]:
    """Set a scale that shows all finite ``values``; return its ends."""
    finite = [float(value) for value in values if np.isfinite(value)] or [0.0, 1.0]
    least, greatest = min(finite), max(finite)
    if least > 0 and greatest / least > DECADE:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if greatest / least < DECADE**3 else (1,)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        margin = (greatest / least) ** 0.05
        start, end = least / margin, greatest * margin
    else:
        margin = 0.05 * (greatest - least) or abs(least) / 2 or 0.5
        start, end = least - margin, greatest + margin
    axes.set_xlim(start, end)
    return start, end


def _name(check: Check) -> str:
    return fill(check.what.partition(": ")[0], LETTERS).replace("$", r"\$")
