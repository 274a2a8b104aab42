"""Forest plots are judged as a reader sees them: by the elements of the picture."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.output_alignment.claims import CLAIMS
from synthlab.studies.checks import Check
from synthlab.studies.presentation.forest import LEFT, MARGIN, WIDTH, Axis, forest
from synthlab.studies.verdicts import Verdict

MIDDLE, END = LEFT + WIDTH / 2, LEFT + WIDTH - MARGIN


def picture(*checks: Check) -> ElementTree.Element:
    return ElementTree.fromstring(forest(Verdict(CLAIMS["1a"], "Figure 1", list(checks), [])))


def texts(svg: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in svg.iter("text")]


def check(what: str, values, low: float = -math.inf, high: float = math.inf, centre: float | None = None) -> Check:
    return Check(what, np.array(values, dtype=float), low, high, centre=centre)


@pytest.mark.parametrize(
    ("numbers", "value", "place"),
    [
        ([0, 10], 5, MIDDLE),
        ([1, 10_000], 100, MIDDLE),
        ([-1, 10_000], 10_000, END),
        ([0, 10_000], 5_000, MIDDLE),  # 0 has no logarithm
        ([], 0.5, MIDDLE),
        ([math.nan, math.inf, 0, 2], 1, MIDDLE),
        ([0, 2], math.inf, LEFT + WIDTH),
    ],
)
def test_where_a_value_stands(numbers, value, place):
    assert Axis.from_numbers(numbers).place(value) == pytest.approx(place)


def test_a_row_by_hand():
    # the axis runs from 0 to 8: the values, the threshold, its half and twice
    svg = picture(check("x: y", [0, 2, 2, 2, 3], high=4, centre=0.0))
    x = [Axis.from_numbers([0, 8]).place(value) for value in (0, 2, 3, 4, 8)]
    [shaded] = svg.findall("rect")
    assert (float(shaded.get("x", "")), float(shaded.get("width", ""))) == (LEFT, pytest.approx(x[3] - LEFT))
    [row] = svg.findall("g")
    interval, seeds = (path.get("d", "") for path in row.findall("path"))
    assert interval.startswith(f"M{x[0]} ")
    assert interval.endswith(f"H{x[2]}")
    assert [move.split(" ")[0] for move in seeds.split("M")[1:]] == [str(x[index]) for index in (0, 1, 1, 1, 2)]
    [median] = row.findall("circle")
    assert (median.get("cx"), row.get("class")) == (str(x[1]), "holds")
    drawn = "".join(path.get("d", "") for path in svg.findall("path"))
    assert all(f"M{place} " in drawn for place in (x[1], x[3], x[4]))  # half, the threshold, twice
    assert "holds" in texts(svg)


FINITE = st.floats(-1e300, 1e300, allow_subnormal=False)
WORDS = st.text(st.characters(exclude_categories=["C"]), max_size=80)  # XML has no control characters
NUMBERS = st.lists(FINITE | st.sampled_from([math.inf, -math.inf, math.nan]), max_size=6)


@given(st.lists(st.tuples(WORDS, NUMBERS, FINITE, st.booleans()), min_size=1, max_size=4))
@settings(max_examples=30)
def test_any_checks_are_drawn_within_the_axes(made):
    checks = [check(what, values, **{"low" if below else "high": bound}) for what, values, bound, below in made]
    verdict = Verdict(CLAIMS["1a"], "Figure 1", checks, [])
    assert forest(verdict) == forest(verdict)
    svg = ElementTree.fromstring(forest(verdict))
    assert len(svg.findall("g")) == len(checks)
    for circle in svg.iter("circle"):
        assert LEFT <= float(circle.get("cx", "")) <= LEFT + WIDTH
