"""Sheets: one legend that covers no data, notes that are said once, and text that is large enough."""

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.text import Text

from synthlab.analysis.curves import RC
from synthlab.studies.presentation.figure_files import PAGE, Drawn, draw_sheet, save_with_points
from synthlab.studies.presentation.plots import PLOTS

LEAST = 7  # points


def curves(title: str, *series: str, seeds: int = 5) -> Drawn:
    rows = [{"series": name, "length": k, "median": k, "low": k / 2, "high": 2 * k} for name in series for k in (1, 9)]
    data = pd.DataFrame(rows).assign(seeds=seeds, train_length=5, metric="mse")
    return Drawn(title, PLOTS.build({"name": "curves"}), data)


@pytest.mark.parametrize("number", [1, 3, 14])
def test_one_legend_lies_beside_all_panels_and_all_text_can_be_read(number):
    with mpl.rc_context(RC):
        figure = draw_sheet("title", [curves(f"panel {k}", "nope", "rope", f"mine {k % 2}") for k in range(number)])
        figure.draw_without_rendering()
    [legend] = figure.legends
    assert not [axes for axes in figure.axes if axes.get_legend()]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["NoPE", "RoPE", "mine 0", "mine 1"][: 3 if number == 1 else 4]
    box = legend.get_window_extent()
    for axes in figure.axes:
        assert not axes.get_tightbbox().overlaps(box)
    assert figure.get_figwidth() <= PAGE
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= LEAST


def test_a_note_is_said_once_and_names_the_panels_for_which_it_holds():
    panels = [curves("first", "nope"), curves("second", "nope"), curves("third", "nope", seeds=1)]
    with mpl.rc_context(RC):
        figure = draw_sheet("", panels)
    said = " ".join(figure.texts[-1].get_text().split())
    assert said == ("trained on the shaded lengths; A, B: median of 5 seeds, band from least to greatest; C: one seed")
    assert [axes.get_title() for axes in figure.axes][:3] == ["A: first", "B: second", "C: third"]


def test_a_series_looks_the_same_in_every_panel():
    with mpl.rc_context(RC):
        figure = draw_sheet("", [curves("a", "mine", "other"), curves("b", "other")])
    [first], [second] = (
        [line.get_color() for line in axes.get_lines() if line.get_label() == "other"] for axes in figure.axes
    )
    assert first == second


def test_values_can_be_pointed_at_where_they_are_drawn(tmp_path):
    _, points = save_with_points(tmp_path, "x", "", {"a": curves("a", "rope"), "b": curves("b", "rope", "nope")})
    assert [point.says for point in points[:2]] == [
        "RoPE: 1, 1 (0.5 to 2, seeds: 5)",
        "RoPE: 9, 9 (4.5 to 18, seeds: 5)",
    ]
    assert len(points) == 6
    first, second = points[:2]
    assert first.x < second.x < 0.5 < points[2].x
    assert first.y > second.y
