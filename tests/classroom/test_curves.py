from itertools import pairwise
from math import log10

import pytest
from bokeh.models import ColumnDataSource

from classroom.charts.curves import CurvesChart, colour_dots, points
from classroom.charts.styles import line
from classroom.charts.views import Dots


def test_longer_is_darker_and_beyond_training_square():
    shown = colour_dots([Dots(length, [], [], [], []) for length in (2, 5, 10, 20, 50)], train_length=10)
    assert [marker for _, _, marker in shown] == ["circle"] * 3 + ["square"] * 2
    weights = (0.2126, 0.7152, 0.0722)  # of red, green and blue in how light a colour is
    light = [
        sum(weight * int(colour[at : at + 2], 16) for weight, at in zip(weights, (1, 3, 5), strict=True))
        for _, colour, _ in shown
    ]
    assert light == sorted(light, reverse=True)
    assert max(light) < 200  # of 255, the white behind them
    assert min(a - b for a, b in pairwise(light)) > 15


@pytest.mark.parametrize("errors", [[9.0, 40.0], [5.0, 5.0], [0.9, 1.1], [1e-7, 1e3], [0.0, 0.0]])
def test_a_logarithmic_axis_is_long_enough_for_ticks_at_powers_of_ten(errors):
    chart = CurvesChart("errors", "length (symbols)", "error (symbols)", "log")
    chart.add(1, ColumnDataSource(points([1, 2], errors, "a run")), line(0))
    chart.fit()
    low, high = chart.figure.y_range.start, chart.figure.y_range.end
    assert log10(high) - log10(low) > 2  # from which on Bokeh's LogTicker takes powers
    assert all(low < error < high for error in errors if error > 0)
