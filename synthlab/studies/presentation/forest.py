"""Forest plots: the interval of each check of a verdict against its threshold, as SVG within a page.

Checks of one quantity and one threshold share an axis, in units of what is measured; others have axes of their own
below. Colours are the page's classes of answers; marks and words tell the answers apart without them.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import chain
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Template
from matplotlib.ticker import MaxNLocator

from synthlab.studies.checks import FACTORS, FEW, Answer, Check
from synthlab.studies.presentation.pages import template
from synthlab.studies.verdicts import Verdict

# All in pixels: where the axes begin and how wide they are, the margin at their ends, and heights.
LEFT, WIDTH, MARGIN, ANSWER = 300, 430, 18, 110
LINE, ROW, TITLE, SCALE, GAP = 15, 8, 18, 20, 12
LETTERS = 45  # the most characters of a check's name left of the axes
CLOSE = 48  # labels closer than this would overlap
DECADE = 10.0  # positive numbers with a larger ratio than this get a logarithmic axis
CLASSES: dict[Answer, str] = {
    "holds": "holds",
    "fails": "fails",
    "undecided": "open",
    "few seeds": "open",
    "not tested": "open",
}


class Axis(NamedTuple):
    """The scale that the checks of one quantity share, from ``start`` to ``end``."""

    start: float
    end: float
    logarithmic: bool

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> "Axis":
        """Return an axis that shows all finite ``numbers``."""
        finite = [number for number in numbers if math.isfinite(number)] or [0.0, 1.0]
        least, greatest = min(finite), max(finite)
        if least == greatest:
            least, greatest = least - (abs(least) or 1.0) / 2, greatest + (abs(greatest) or 1.0) / 2
        return cls(least, greatest, least > 0 and greatest / least > DECADE)

    def place(self, value: float) -> float:
        """Return the place of ``value`` on the axis; infinite values are at the end."""
        if math.isinf(value):
            return LEFT if value < 0 else LEFT + WIDTH
        value, start, end = (math.log10(v) if self.logarithmic else v for v in (value, self.start, self.end))
        return round(LEFT + MARGIN + (value - start) / (end - start) * (WIDTH - 2 * MARGIN), 1)

    def ticks(self) -> list[float]:
        """Return a few round numbers between its ends."""
        if not self.logarithmic:
            found = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(self.start, self.end)
            return [float(tick) + 0.0 for tick in found if self.start <= tick <= self.end]  # + 0.0: no -0
        first, last = math.ceil(math.log10(self.start)), math.floor(math.log10(self.end))
        if last - first >= 2:
            return [10.0**power for power in range(first, last + 1, math.ceil((last - first) / 5))]
        every = (k * 10.0**power for power in range(first - 1, last + 1) for k in (1, 2, 5))
        return [tick for tick in every if self.start <= tick <= self.end]


def forest(verdict: Verdict) -> str:
    """Return the plot of a verdict's checks, an ``svg`` element for an HTML page; empty without checks."""
    if not verdict.checks:
        return ""
    groups: dict[tuple[str, tuple[float, ...]], list[Check]] = {}  # in the order of their first checks
    for check in verdict.checks:
        groups.setdefault((_quantity(check)[1], check.thresholds), []).append(check)
    panels, end, right = [], 0.0, LEFT + WIDTH
    for (title, _), group in groups.items():
        panels.append(_panel(title, group, end))
        end = panels[-1]["bottom"] + SCALE + GAP
    sizes = {"left": LEFT, "right": right, "width": right + ANSWER, "height": end, "line": LINE}
    return _picture().render(claim=verdict.claim.name, panels=panels, **sizes)


@cache
def _picture() -> Template:
    return template("synthlab.studies.presentation", "forest.svg.j2", markup=True)


def _quantity(check: Check) -> tuple[str, str]:
    """Return the subject and the quantity, from ``NoPE: largest error``; an empty quantity without a colon."""
    what, _, quantity = check.what.partition(": ")
    return what, quantity


def _panel(title: str, checks: Sequence[Check], y: float) -> dict[str, Any]:
    """Return the picture's data for the checks of one quantity and threshold, from ``y`` on.

    ``others`` are half and twice the thresholds.
    """
    scaled = [check.at(factor) for check in checks if check.scales for factor in FACTORS.values()]
    others = sorted({bound for check in scaled for bound in check.thresholds})
    thresholds = checks[0].thresholds
    values = [float(value) for check in checks for value in check.measured]
    axis = Axis.from_numbers([*values, *thresholds, *others])
    top = bottom = y + (TITLE if title else 0) + LINE
    rows = []
    for check in checks:
        rows.append(_row(check, axis, bottom))
        bottom += rows[-1]["height"]
    ends = {end for end in (-math.inf, math.inf) if end in values}
    places = [axis.place(bound) for bound in thresholds]
    return {
        "title": title,
        "y": y,
        "top": top,
        "bottom": bottom,
        "rows": rows,
        "ticks": [(axis.place(tick), f"{tick:g}") for tick in chain(axis.ticks(), ends)],
        "thresholds": places,
        "named": _label_thresholds(places, thresholds),
        "others": [axis.place(bound) for bound in others],
    }


def _label_thresholds(places: Sequence[float], thresholds: Sequence[float]) -> list[tuple[float, str]]:
    """Return the thresholds' labels and places; one label for two that would overlap."""
    if len(places) == 2 and places[1] - places[0] < CLOSE:
        low, high = thresholds
        return [(sum(places) / 2, f"{low:g} to {high:g}")]
    return [(place, f"{bound:g}") for place, bound in zip(places, thresholds, strict=True)]


def _row(check: Check, axis: Axis, y: float) -> dict[str, Any]:
    """Return the picture's data for a check, from ``y`` on; ``median`` and ``interval`` may be None."""
    words = wrap(_quantity(check)[0], LETTERS) or [""]
    height = LINE * len(words) + ROW
    low, high, _ = check.interval
    return {
        "words": words,
        "y": y,
        "height": height,
        "middle": y + height / 2,
        "answer": check.answer,
        "says": "no verdict" if check.answer == FEW else check.answer,
        "style": CLASSES[check.answer],
        "wanted": (axis.place(check.low), axis.place(check.high)),
        "seeds": [axis.place(float(value)) for value in check.measured],
        "median": None if np.isnan(check.median) else axis.place(check.median),
        "interval": None if np.isnan(low) else (axis.place(low), axis.place(high)),
    }
