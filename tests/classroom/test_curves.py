from itertools import pairwise

from classroom.charts.curves import colour_dots
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
