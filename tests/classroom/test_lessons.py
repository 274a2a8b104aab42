import pytest

from classroom.lessons.lesson import Lessons
from synthlab.errors import InputError

ONE = {"button": "b", "title": "t", "watch": "w", "seen": "s", "runs": [{"task": "mean"}]}


def test_a_runs_own_settings_come_over_those_of_every_run_groups_before_the_keys_inside_them():
    lessons = Lessons.from_raw(
        {
            "every": {"protocol.steps": 7, "protocol": "classroom"},
            "lessons": {"one": ONE | {"runs": [{"model.width": 8, "protocol": "lab"}, {"protocol.steps": 9}]}},
        }
    )
    first, second = lessons.settings(lessons.lessons["one"])
    assert list(first.items()) == [("protocol", "lab"), ("protocol.steps", 7), ("model.width", 8)]
    assert list(second.items()) == [("protocol", "classroom"), ("protocol.steps", 9)]


def test_a_misspelt_key_of_a_lesson_is_refused_in_one_line():
    with pytest.raises(InputError, match=r"^lessons\.one\.titel=t: unknown key, did you mean title\?; choose from.*$"):
        Lessons.from_raw({"every": {}, "lessons": {"one": ONE | {"titel": "t"}}})
