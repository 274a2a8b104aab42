"""A window without a browser: what is pressed, what is asked of the process, what is shown."""

from classroom.messages import Answered, Forget, Read, Refused, Stop, Theorize, Theorized, Train
from support.puppets import READING, begun, progress


def test_a_lesson_trains_its_runs_in_turn_and_then_says_what_was_seen(window):
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


def test_runs_that_are_there_are_not_trained_again_unless_all_are(window):
    window.press("Length fails")
    window.trains(1)
    window.press("1/x mends most")
    assert [request.number for request in window.asked(Train)] == [1, 2]  # the plain one is there
    window.trains(2)
    window.press("1/x mends most")
    assert len(window.page.runs) == 1  # both anew
    window.trains(3)
    window.trains(4)
    assert [request.number for request in window.asked(Train)] == [1, 2, 3, 4]
    assert window.drawn == {3, 4}


def test_another_lesson_takes_over_from_the_one_that_trains(window):
    window.press("Which encoding?")
    window.hear(begun(1), progress(1))
    window.press("Mean works")
    assert isinstance(window.puppet.asked[-1], Stop)
    assert len(window.asked(Train)) == 1  # not before the other has left off
    window.hear(progress(1, "stopped"))
    assert window.asked(Train)[-1].settings["inputs"] == "uniform_count"
    window.trains(2)
    assert window.page.told.lessons["mean"].seen in window.page.board.story.text


def test_clear_takes_everything_away_and_what_still_comes_is_ignored(window):
    window.press("Which encoding?")
    window.hear(begun(1), progress(1))
    window.press("Clear")
    window.hear(progress(1), progress(1, "stopped"))
    assert (len(window.page.runs), window.drawn) == (0, set())
    assert [window.page.board.answers.dots.data["x"], window.page.board.sequence.truth.data["x"]] == [[], []]
    assert window.asked(Forget)
    window.press("Mean works")
    window.trains(2)
    assert window.names == ["mean, NoPE, varied coin"]


def test_stop_keeps_the_curve(window):
    window.press("Train")
    window.hear(begun(1), progress(1))
    window.press("Stop")
    assert window.asked(Stop)
    window.hear(progress(1, "stopped"))
    assert window.drawn == {1}
    assert "stopped early" in window.page.board.listed.text


def test_a_refused_run_leaves_no_curve(window):
    window.press("Train")
    window.hear(Refused(1, ["train_length=10: too long"], ended=True))
    assert "train_length=10: too long" in window.page.board.message.text
    assert (len(window.page.runs), window.drawn) == (0, set())
    window.press("Train")
    assert len(window.asked(Train)) == 2


def test_the_typed_sequence_is_read_at_the_chosen_length(window):
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


def test_theory_is_drawn_where_there_is_one_and_else_says_why(window):
    window.press("In theory")
    assert window.page.controls.theory
    window.hear(begun(1))
    assert window.asked(Theorize) == [Theorize(1)]
    window.hear(Theorized(1, [0.5] * 6, ""))
    assert "theory" in window.drawn
    window.page.controls.ticks.active = []
    assert "theory" not in window.drawn
    window.hear(progress(1, "finished"))
    window.press("Mean works")
    window.trains(2)
    window.page.controls.ticks.active = [1]
    window.hear(Theorized(2, [], "theory: known for fair symbols only"))
    assert "fair symbols only" in window.page.board.message.text
    assert "theory" not in window.drawn


def test_looking_at_another_run_shows_its_numbers_and_command(window):
    window.press("Length fails")
    window.trains(1, error=4.0)
    window.press("Mean works")
    window.trains(2, error=9.0)
    assert "off by 3 at length 3 and by 3 at length 6" in window.page.board.numbers.text
    window.page.controls.look.value = "1"
    assert "off by 2 at length 3 and by 2 at length 6" in window.page.board.numbers.text
    assert "seed=1" in window.page.board.command.text


def test_the_lesson_chooses_the_scale_of_the_errors(window):
    for lesson in window.page.told.lessons.values():
        window.press(lesson.button)
        shown = {scale: each.figure.visible for scale, each in window.page.board.errors.charts.items()}
        assert shown == {"log": lesson.scale == "log", "linear": lesson.scale == "linear"}


def test_outputs_are_shown_after_the_map_only_where_there_is_one(window):
    mapped = window.page.board.mapped.figure
    window.press("1/x mends most")
    assert not mapped.visible
    window.trains(1)
    assert not mapped.visible
    window.trains(2)
    assert mapped.visible
    window.page.controls.look.value = "1"
    assert not mapped.visible


def test_every_axis_says_what_it_counts_in(window):
    window.press("The sum")
    window.trains(1)
    window.trains(2)
    labels = {axis.axis_label for root in window.page.document.roots for axis in getattr(root, "axis", [])}
    assert {"truth (1s)", "answer (1s)", "length (symbols)", "1/x, with x in 1s"} <= labels
    counts = {"training steps", "token", "attention head", "token looked at", "token that looks", "1/x, with x in 1s"}
    assert [label for label in labels - counts if not label.endswith(")")] == []
