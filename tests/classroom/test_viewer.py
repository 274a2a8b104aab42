import numpy as np
import pytest

from classroom.viewer import Viewer
from support.configs import QUICK, config
from synthlab import run
from synthlab.numbers.family import build_models
from synthlab.training.execution import fit

LONGEST = QUICK["test_length"]


def untrained(*overrides: str):
    given = config(*overrides)
    return Viewer(given), build_models([given])


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "length", "outrep": "rsqrt", "encoding": "rope"},
        {"task": "sum", "outrep": "rsqrt", "encoding": "randomized"},
        {"task": "length", "model": "linear"},
    ],
    ids=lambda settings: "-".join(settings.values()),
)
def test_the_error_seen_is_the_recorded_one(tmp_path, settings):
    recorded = run(**QUICK, **settings, results=tmp_path, progress=False)[0]
    model, _ = fit([recorded.config])
    assert Viewer(recorded.config).view(model).error == recorded.metrics["mse"].tolist()


def test_a_view_shows_truth_and_answers_at_every_length():
    viewer, model = untrained("task=length")
    view = viewer.view(model)
    assert [dots.length for dots in view.dots] == [2, 5, 10, 12]
    for dots in view.dots:
        assert dots.truth == dots.mapped == [dots.length] * QUICK["evaluation"]["sequences"]
        assert dots.answers == dots.outputs  # there is no map
        errors = np.array(dots.answers) - dots.truth
        assert view.error[dots.length - 1] == pytest.approx(np.mean(errors**2))


def test_a_map_is_seen_from_both_sides():
    viewer, model = untrained("task=length", "outrep=rsqrt")
    for dots in viewer.view(model).dots:
        assert dots.mapped == pytest.approx([dots.length**-0.5] * len(dots.truth))
        inside = [(z, answer) for z, answer in zip(dots.outputs, dots.answers, strict=True) if z > 1000**-0.5]
        assert all(answer == pytest.approx(z**-2) for z, answer in inside)
        beyond = [answer for z, answer in zip(dots.outputs, dots.answers, strict=True) if z <= 1000**-0.5]
        assert beyond == pytest.approx([1000.0] * len(beyond))  # clipped to evaluation.largest


@pytest.mark.parametrize(
    ("task", "truth"),
    [
        ("mean", [0, 1 / 2, 2 / 3, 2 / 4, 3 / 5, 4 / 6, 4 / 7]),
        ("length", [1, 2, 3, 4, 5, 6, 7]),
        ("sum", [0, 1, 2, 2, 3, 4, 4]),
    ],
)
def test_a_typed_sequence_is_repeated(task, truth):
    viewer, model = untrained(f"task={task}")
    reading = viewer.read(model, "011", 4)
    assert (reading.symbols, reading.length) == ("011011011011", 4)
    assert reading.truth[:7] == pytest.approx(truth)
    assert len(reading.answers) == LONGEST
