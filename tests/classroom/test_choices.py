"""What stands in the controls, read as a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.choices import Chooser, Limit, read_sequence
from classroom.lessons import words
from classroom.lessons.lesson import Lessons
from support.configs import composed
from synthlab.errors import InputError
from synthlab.runs.composition import to_overrides
from synthlab.runs.run import resolve

ONE = {"button": "b", "title": "t", "watch": "w", "seen": "s", "runs": [{"task": "mean"}]}
LIMIT = Limit(low=8, high=64, multiple=8)
GROUPS = [(group, name) for group in words.FIRST for name, _ in words.choices(group)]


def test_every_lesson_can_be_set_by_hand(config, chooser):
    _, lessons = config
    for lesson in lessons.lessons.values():
        for settings, choice in zip(lessons.settings(lesson), chooser.runs(lesson), strict=True):
            shown = {key: str(value) for key, value in choice.items()}
            assert chooser.read(shown) == choice
            told = resolve(composed(*to_overrides(settings)))
            assert resolve(composed(*to_overrides(chooser.settings(choice)))) == told


def test_a_lesson_beyond_the_controls_is_refused(config):
    settings, lessons = config
    mean = lessons.lessons["mean"].model_copy(update={"runs": [{"inputs.p": 0.3}]})
    with pytest.raises(InputError, match=r"^lessons.mean.runs: inputs.p is not one of the page's controls$"):
        Chooser(lessons.model_copy(update={"lessons": {"mean": mean}}), settings.limits)


def test_settings_of_a_run_override_those_of_every_run():
    lessons = Lessons.from_raw(
        {
            "every": {"protocol.steps": 7, "protocol": "classroom"},
            "lessons": {"one": ONE | {"runs": [{"model.width": 8, "protocol": "lab"}, {"protocol.steps": 9}]}},
        }
    )
    first, second = lessons.settings(lessons.lessons["one"])
    assert list(first.items()) == [("protocol", "lab"), ("protocol.steps", 7), ("model.width", 8)]
    assert list(second.items()) == [("protocol", "classroom"), ("protocol.steps", 9)]


@pytest.mark.parametrize(("group", "name"), GROUPS)
def test_every_member_of_a_group_can_be_chosen(chooser, group, name):
    choice = chooser.defaults | {"task": "length", group: name}
    assert resolve(composed(*to_overrides(chooser.settings(choice)))).model_dump()[group]["name"] == name


@pytest.mark.parametrize("text", ["", "7", "12", "72", "8.0", "²", "9" * 300])
def test_a_bad_number_is_refused_in_one_line(text):
    assert LIMIT.read("width", "16") == 16
    with pytest.raises(InputError, match="^width: .* is not valid; give a multiple of 8 from 8 to 64$"):
        LIMIT.read("width", text)


@given(st.text(alphabet="01 \t\n", max_size=40) | st.text(max_size=40))
def test_any_text_is_a_sequence_or_refused(text):
    try:
        symbols = read_sequence(text, 20)
    except InputError as error:
        assert len(error.lines) == 1
        assert error.lines[0].startswith("sequence: ")
    else:
        assert symbols == "".join(text.split())
        assert set(symbols) <= {"0", "1"}
        assert 1 <= len(symbols) <= 20
