"""What stands in the controls, read as a run."""

import pytest

from classroom import words
from classroom.choices import Chooser, Limit, read_sequence
from support.configs import composed
from synthlab.errors import InputError
from synthlab.runs.composition import to_overrides
from synthlab.runs.run import resolve

LIMIT = Limit(low=8, high=64, multiple=8)
GROUPS = [(group, name) for group in words.FIRST for name, _ in words.choices(group)]


def test_every_lesson_can_be_set_by_hand(config, chooser):
    _, lessons = config
    for lesson in lessons.lessons.values():
        for run, choice in zip(lesson.runs, chooser.runs(lesson), strict=True):
            assert chooser.read({key: str(value) for key, value in choice.items()}) == choice
            settings = dict(sorted((lessons.every | run).items(), key=lambda setting: "." in setting[0]))
            told = resolve(composed(*to_overrides(settings)))
            assert resolve(composed(*to_overrides(chooser.settings(choice)))) == told


def test_a_lesson_beyond_the_controls_is_refused(config):
    settings, lessons = config
    mean = lessons.lessons["mean"].model_copy(update={"runs": [{"inputs.p": 0.3}]})
    with pytest.raises(InputError, match=r"^lessons.mean.runs: inputs.p is not one of the page's controls$"):
        Chooser(lessons.model_copy(update={"lessons": {"mean": mean}}), settings.limits)


@pytest.mark.parametrize(("group", "name"), GROUPS)
def test_every_member_of_a_group_can_be_chosen(chooser, group, name):
    choice = chooser.defaults | {"task": "length", group: name}
    assert resolve(composed(*to_overrides(chooser.settings(choice)))).model_dump()[group]["name"] == name


@pytest.mark.parametrize("text", ["", "7", "12", "72", "8.0", "²", "9" * 300])
def test_a_bad_number_is_refused_in_one_line(text):
    assert LIMIT.read("width", "16") == 16
    with pytest.raises(InputError, match="^width: .* is not valid; give a multiple of 8 from 8 to 64$"):
        LIMIT.read("width", text)


def test_a_sequence_is_read_without_spaces_or_refused_in_one_line():
    assert read_sequence(" 01\t10\n", 4) == "0110"
    for text in ("", "012", "<b>", "\uff11", "01" * 3):
        with pytest.raises(InputError, match="^sequence: .*$"):
            read_sequence(text, 4)
