"""A window without a browser: what is pressed, what is asked of the process, what is shown."""

from classroom.messages import Answered, Forget, Read, Refused, Stop, Train
from support.fake_page import READING, begun, progress


def test_a_lesson_trains_its_runs_in_turn(window):
    lesson = window.page.told.lessons["mended"]
    window.press(lesson.button)
    assert lesson.watch in window.page.board.story.text
    first = window.asked(Train)
    assert [request.settings for request in first] == [
        {"task": "length", "protocol": "classroom", "protocol.steps": 1500}
    ]
    window.trains(1)
    assert lesson.watch in window.page.board.story.text  # there is one more
    assert window.asked(Train)[-1].settings["outrep"] == "reciprocal"
    window.trains(2)
    assert lesson.seen in window.page.board.story.text
    assert window.names == ["length, NoPE, 1500 steps", "length, NoPE, 1/x, 1500 steps"]
    assert window.page.controls.settings["outrep"].value == "reciprocal"


def test_another_lesson_takes_over_from_the_one_that_trains(window):
    window.press("Which encoding?")
    window.hear(begun(1), progress(1))
    window.press("Mean works")
    assert isinstance(window.worker.asked[-1], Stop)
    assert len(window.asked(Train)) == 1  # not before the other has left off
    window.hear(progress(1, "stopped"))
    assert window.asked(Train)[-1].settings["inputs"] == "uniform_count"
    window.trains(2)
    assert window.page.told.lessons["mean"].seen in window.page.board.story.text


def test_clear_takes_everything_away(window):
    window.press("Which encoding?")
    window.hear(begun(1), progress(1))
    window.press("Clear")
    window.hear(progress(1), progress(1, "stopped"))
    assert (len(window.page.runs), window.drawn) == (0, set())
    assert [window.page.board.plain.dots.data["x"], window.page.board.sequence.truth.data["x"]] == [[], []]
    assert window.asked(Forget)
    window.press("Mean works")
    window.trains(2)
    assert window.names == ["mean, NoPE, varied coin"]


def test_a_refused_run_leaves_no_curve(window):
    window.press("Train")
    window.hear(Refused(1, ["train_length=10: too long"], ended=True))
    assert "train_length=10: too long" in window.page.board.message.text
    assert (len(window.page.runs), window.drawn) == (0, set())
    window.press("Train")
    assert len(window.asked(Train)) == 2


def test_a_typed_sequence_is_read_at_the_chosen_length(window):
    window.press("Length fails")
    window.hear(begun(1), progress(1))
    assert window.asked(Read) == [Read(1, "0110", 6)]  # the slider ends where testing does
    window.page.controls.sequence.value_input = "01 1"
    window.page.controls.length.value = 2
    assert len(window.asked(Read)) == 1  # one at a time
    window.hear(Answered(1, READING))
    assert window.asked(Read)[-1] == Read(1, "011", 2)
    assert "truth <b>2</b>, the model says <b>1</b>" in window.page.board.answer.text
    assert "a length it has trained on" in window.page.board.answer.text


def test_a_process_that_does_not_stop_is_replaced(window):
    window.press("Length fails")
    window.hear(begun(1), progress(1))
    window.press("Mean works")
    window.worker.is_gone = True  # what the worker says when its time to stop is up
    window.page.poll()
    assert "stopped early" in window.page.board.listed.text
    assert len(window.workers) == 2
    assert [request.number for request in window.asked(Train)] == [2]
    window.page.controls.look.value = "1"  # its curve is there, its model is not
    window.page.controls.sequence.value_input = "01"
    assert [request.number for request in window.asked(Read)] in ([], [2])


def test_an_error_of_the_page_is_one_line(window, monkeypatch, capsys):
    window.press("Length fails")
    monkeypatch.setattr(window.page.board.plain, "update", lambda *_: 1 / 0)
    window.trains(1)
    assert "The page made a mistake (ZeroDivisionError" in window.page.board.message.text
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.undo()
    window.press("Clear")
    window.press("Mean works")
    window.trains(2)
    assert window.names == ["mean, NoPE, varied coin"]


def test_before_a_first_run_the_page_says_what_to_press_and_shows_no_empty_chart(window):
    board = window.page.board
    assert board.errors.hints[0].text == "Press “Mean works”"
    assert not board.losses.figure.visible
    window.press("Mean works")
    assert board.errors.hints[0].text == ""
    window.trains(1)
    assert board.losses.figure.visible
    window.press("Clear")
    assert not board.plain.figure.visible


def test_curves_in_another_unit_are_hidden(window):
    window.press("Mean works")
    window.trains(1)
    window.press("Length fails")
    window.trains(2)
    shown = {key: curve.visible for key, (curve, *_) in window.page.board.losses.drawn.items()}
    assert shown == {1: False, 2: True}
    window.page.controls.look.value = "1"
    shown = {key: curve.visible for key, (curve, *_) in window.page.board.errors.charts["log"].drawn.items()}
    assert shown == {1: True, 2: False}
