"""A window when something goes wrong, or comes too late: processes that die, replies nobody waits for any more."""

import pytest

from classroom.messages import Read, Train
from support.puppets import begun, progress

pytestmark = pytest.mark.slow  # windows are slow to make


def test_a_process_that_does_not_stop_is_replaced(window):
    window.press("Length fails")
    window.hear(begun(1), progress(1))
    window.press("Mean works")
    window.puppet.is_gone = True  # what the worker says when its time to stop is up
    window.page.poll()
    assert "stopped early" in window.page.board.listed.text
    assert len(window.puppets) == 2
    assert [request.number for request in window.asked(Train)] == [2]
    window.page.controls.look.value = "1"  # its curve is there, its model is not
    window.page.controls.sequence.value_input = "01"
    assert [request.number for request in window.asked(Read)] in ([], [2])


def test_an_error_of_the_page_is_one_line(window, monkeypatch, capsys):
    window.press("Length fails")
    monkeypatch.setattr(window.page.board.answers, "update", lambda *_: 1 / 0)
    window.trains(1)
    assert "The page made a mistake (ZeroDivisionError" in window.page.board.message.text
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.undo()
    window.press("Clear")
    window.press("Mean works")
    window.trains(2)
    assert window.names == ["mean, NoPE, varied coin"]
