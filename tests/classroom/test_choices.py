"""What stands in the controls, read as a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.choices import Chooser, Limit, read_sequence
from classroom.lessons import words
from support.configs import composed
from synthlab.config.base import resolve
from synthlab.config.composition import to_overrides
from synthlab.errors import InputError

LIMIT = Limit(low=8, high=64, multiple=8)


def test_every_lesson_is_made_of_what_the_controls_can_say(config, chooser):
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


@pytest.mark.parametrize("group", words.FIRST)
def test_every_member_of_a_group_can_be_chosen(chooser, group):
    for name, word in words.choices(group):
        choice = chooser.defaults | {"task": "length", group: name}
        assert resolve(composed(*to_overrides(chooser.settings(choice)))).model_dump()[group]["name"] == name
        assert word


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_refused(text):
    try:
        number = LIMIT.read("width", text)
    except InputError as error:
        assert len(error.lines) == 1
        assert error.lines[0].startswith("width: ")
        assert error.lines[0].endswith("is not valid; give a multiple of 8 from 8 to 64")
    else:
        assert number in range(8, 65, 8)


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
