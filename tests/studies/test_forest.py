"""Forest plots: where a check's values, its interval and its thresholds are drawn, and in which words."""

import math

import numpy as np
import pytest

from experiments.output_alignment.claims import CLAIMS
from synthlab.studies.checks import Check
from synthlab.studies.forest import draw_forest, forest
from synthlab.studies.verdicts import Verdict


def check(what: str, values, low: float = -math.inf, high: float = math.inf) -> Check:
    return Check(what, np.array(values, dtype=float), low, high)


def test_a_row_by_hand():
    figure = draw_forest([check("x: y", [0, 2, 2, 2, 3], high=4)])
    [axes] = figure.axes[:1]
    seeds, median, threshold = [np.asarray(line.get_xdata(), dtype=float).tolist() for line in axes.get_lines()]
    assert (seeds, median, threshold) == ([0, 2, 2, 2, 3], [2], [4, 4])
    shaded, interval = axes.collections
    assert interval.get_segments()[0][:, 0].tolist() == [0, 3]
    assert shaded.get_paths()[0].get_extents().xmax == 4
    assert [text.get_text() for text in axes.texts] == ["holds", "4"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x"]


def test_each_quantity_and_threshold_has_axes_of_its_own():
    checks = [
        check("a: y", [1], high=2),
        check("b: y", [1], high=2),
        check("a: z", [1], high=2),
        check("c: y", [1], low=3),
    ]
    figure = draw_forest(checks)
    rows = [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]
    assert rows == [["a", "b"], ["a"], ["c"]]
    assert [axes.get_title("left") for axes in figure.axes] == ["y", "z", "y"]


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:invalid value")
def test_any_checks_can_be_drawn():
    checks = [
        check("数 & $x", [math.nan, math.inf, -1e100], high=1e-300),
        check("", [-math.inf], low=0),
        check(": ", []),
    ]
    verdict = Verdict(CLAIMS["1a"], "Figure 1", checks, [])
    assert forest(verdict) == forest(verdict)
    assert sum(len(axes.get_yticks()) for axes in draw_forest(checks).axes) == len(checks)
