from classroom.lessons.lesson import Lessons

ONE = {"button": "b", "title": "t", "watch": "w", "seen": "s", "runs": [{"task": "mean"}]}


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
