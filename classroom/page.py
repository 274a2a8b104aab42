"""One window: what is pressed there, and who trains for it."""

import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from bokeh.document import Document
from bokeh.models import Button

from classroom import words
from classroom.board import Board
from classroom.choices import Choice, Chooser, read_sequence
from classroom.controls import Controls, on_change
from classroom.messages import (
    Answered,
    Begun,
    Forget,
    Progress,
    Read,
    Ready,
    Refused,
    Reply,
    Request,
    Stop,
    Theorize,
    Theorized,
    Train,
)
from classroom.runs import Run, Runs
from classroom.worker import Gone, Worker
from experiments.lessons import Lesson, Lessons
from synthlab.errors import InputError
from synthlab.output import tell

OFTEN = 100  # milliseconds between two looks at what the process has said
SELDOM = 2.0  # seconds between two readings of the same sequence while a model trains: its charts cost the most
WELCOME = (
    "What can a model do with longer sequences than it has seen?",
    "Press the lessons from left to right, or choose for yourself on the left and press Train.",
)


class Options(NamedTuple):
    """What the page's config says besides the lessons."""

    curves: int
    sequence: int


def guarded(handler: Callable[..., None]) -> Callable[..., None]:
    """A handler whose errors become one line on the page: the server goes on."""

    @wraps(handler)
    def guard(page: "Page", *args: Any) -> None:
        try:
            handler(page, *args)
        except InputError as error:
            page.board.complain(error.lines)
        except Gone:
            page.lost()
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())
            tell(f"error: {handler.__name__}: {line}")
            page.board.complain([f"The page made a mistake ({line[:160]}). Press Clear and go on."])

    return guard


def pressed(handler: Callable[..., None]) -> Callable[..., None]:
    """A guarded handler that may add and remove models: Bokeh takes stock of them once, at its end (measured: a tenth
    of the time)."""
    careful = guarded(handler)

    @wraps(handler)
    def press(page: "Page", *args: Any) -> None:
        with page.document.models.freeze():  # which an error must not leave
            careful(page, *args)

    return press


class Page:
    """A window's controls and runs, the board that shows them, and the process that trains."""

    def __init__(
        self, document: Document, hire: Callable[[], Worker], chooser: Chooser, told: Lessons, options: Options
    ):
        self.document, self.hire, self.chooser, self.told, self.options = document, hire, chooser, told, options
        self.worker: Worker | None = None
        self.runs, self.queue = Runs(), list[Choice]()
        self.current: Run | None = None
        self.presses = 0
        self.looked_at: Run | None = None
        self.lesson: Lesson | None = None
        self.pattern, self.reading_due = "0110", 0.0
        self.reading_asked = self.reading_wanted = False
        self.controls = Controls(chooser, {name: lesson.button for name, lesson in told.lessons.items()})
        self.board = Board()
        self.board.tell(*WELCOME)
        self._wire()
        with document.models.freeze():
            for name, root in (*self.controls.roots(), *self.board.roots()):
                root.name = name
                document.add_root(root)
        document.add_periodic_callback(self.poll, OFTEN)

    @guarded
    def open(self) -> None:
        """The window is there: have a process train for it."""
        if self.worker is None:
            self.worker = self.hire()

    def _wire(self) -> None:
        controls, errors = self.controls, self.board.errors
        for name, button in controls.lessons.items():
            _on_click(button, lambda lesson=self.told.lessons[name]: self.teach(lesson))
        _on_click(controls.train, self.train)
        _on_click(controls.stop, self.stop)
        _on_click(controls.clear, self.clear)
        on_change(controls.ticks, "active", lambda ticks: errors.show("linear" if 0 in ticks else "log"))
        on_change(controls.ticks, "active", lambda _: self.show_theory())
        on_change(controls.look, "value", self.choose)
        on_change(controls.sequence, "value_input", lambda _: self.read())
        controls.on_length = lambda _: self.read()

    # --- what is pressed

    @pressed
    def teach(self, lesson: Lesson) -> None:
        """Train a lesson's runs, but for those that are there already; all of them if all are there."""
        choices = self.chooser.runs(lesson)
        self._begin(choices, lesson)
        self.controls.show(choices[-1])
        self.controls.theory = lesson.theory

    @pressed
    def train(self) -> None:
        """Train the run that stands in the controls."""
        self._begin([self.chooser.read(self.controls.texts())], None)

    @pressed
    def stop(self) -> None:
        """Leave off training; what is trained stays."""
        self.queue.clear()
        self._ask_to_stop()

    @pressed
    def clear(self) -> None:
        """Take all curves away, and leave off training."""
        self.stop()
        for run in list(self.runs):
            self._remove(run)
        self._look_at(None)
        self.lesson = None
        self.board.tell(*WELCOME)
        self.board.complain([])
        self._refresh()
        if self.worker is not None:
            self.worker.send(Forget())

    @pressed
    def choose(self, number: str) -> None:
        """Look at another run."""
        run = self.runs.get(int(number)) if number.isdigit() else None
        if run is not None and run is not self.looked_at:
            self._look_at(run)
            self._refresh()

    @pressed
    def read(self) -> None:
        """Have the run that is looked at read the sequence."""
        try:
            self.pattern = read_sequence(self.controls.sequence.value_input or "", self.options.sequence)
        except InputError as error:
            self.board.complain_of_sequence(error.lines)
            return
        self.board.complain_of_sequence([])
        self.reading_wanted = True
        self._read_if_wanted()

    @pressed
    def show_theory(self) -> None:
        """Draw what theory says of the run that is looked at, or take it away."""
        run = self.looked_at
        self.board.draw_theory([])
        if not self.controls.theory or run is None:
            return
        if run.theory is None:
            if run.alive and not run.theory_asked:
                run.theory_asked = True
                self._send(Theorize(run.number))
            return
        error, reason = run.theory
        if reason:
            self.board.complain([reason])
        self.board.draw_theory(error)

    # --- training

    def _begin(self, choices: Sequence[Choice], lesson: Lesson | None) -> None:
        if self._trains(choices, lesson):
            return  # a second click
        there = [run for run in map(self.runs.finished, choices) if run is not None]
        again = len(there) == len(choices)
        new = len(choices) if again else len(choices) - len(there)
        if len(self.runs) - again * len(there) + new > self.options.curves:
            raise InputError(f"There is room for {self.options.curves} curves; press Clear first")
        if self.worker is not None and not self.worker.is_alive:
            self.queue.clear()
            self.lost()  # before it was noticed
        self._see_to_worker()
        self.board.complain([])
        self.presses += 1
        self.lesson = lesson
        if lesson is not None:
            self.board.tell(lesson.title, lesson.watch)
        if again:
            for run in there:
                self._remove(run)
            there = []
        for run in self.runs:
            self.board.fade(run, run not in there)
        kept = [run.choice for run in there]
        self.queue = [choice for choice in choices if choice not in kept]
        self._ask_to_stop()
        self._next()

    def _trains(self, choices: Sequence[Choice], lesson: Lesson | None) -> bool:
        """Whether this is being trained."""
        if self.current is None or self.is_stopping:
            return False
        return lesson is self.lesson if lesson is not None else [self.current.choice, *self.queue] == choices

    def _ask_to_stop(self) -> None:
        if self.current is not None:
            self._send(Stop())

    def _next(self) -> None:
        """Train what comes next, if nothing trains."""
        if self.current is None and self.queue:
            self._see_to_worker()
            choice = self.queue.pop(0)
            for run in self.runs.unfinished():
                if run.choice == choice:
                    self._remove(run)
            run = self.runs.add(choice, words.run_name(choice, self.chooser.defaults), self.presses)
            self.board.add(run)
            self.current = run
            self._look_at(run)
            self._send(Train(run.number, self.chooser.settings(choice)))
        self._refresh()

    def _see_to_worker(self) -> None:
        """Have a process. Raises InputError, and then nothing waits any more."""
        if self.worker is None:
            try:
                self.worker = self.hire()
            except InputError:
                self.queue.clear()
                raise

    def _send(self, request: Request) -> None:
        if self.worker is None:
            raise Gone
        self.worker.send(request)

    @guarded
    def lost(self) -> None:
        """Go on after the process has ended: by itself, or since it did not stop when asked to."""
        stopping = self.is_stopping
        self._let_go()
        if self.current is not None:
            self.current.state = "stopped" if stopping else "failed"
        self.current = None
        if not stopping:
            self.queue.clear()
            self.board.complain(["The process that trains has ended, perhaps for want of memory; try a smaller model"])
        self._next()

    @property
    def is_stopping(self) -> bool:
        """Whether training has been asked to leave off, and has not said that it did."""
        return self.worker is not None and self.worker.is_stopping

    def _let_go(self) -> None:
        """End the process, and with it what it knows of models."""
        self.close()
        self.reading_asked = False
        for run in self.runs:
            run.alive = False

    @guarded
    def poll(self) -> None:
        """Take up what the process has said."""
        replies = [] if self.worker is None else self.worker.replies()
        if all(isinstance(reply, Progress) and reply.state == "training" for reply in replies):
            for reply in {reply.number: reply for reply in replies}.values():  # only the latest look at a run
                self._take(reply)
        else:
            self._hear(replies)

    @pressed
    def _hear(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            self._take(reply)

    def _take(self, reply: Reply) -> None:
        if isinstance(reply, Ready):
            return
        if isinstance(reply, Answered | Refused):
            self.reading_asked = False
        run = self.runs.get(reply.number)
        match reply:
            case Begun() if run is not None:
                run.begun, run.state, run.alive = reply, "training", True
                self._look_at(run)
                self._refresh()
            case Progress():
                self._progress(run, reply)
            case Answered() if run is not None and run is self.looked_at and reply.reading is not None:
                self.board.show_reading(run, reply.reading)
            case Theorized() if run is not None:
                run.theory = (reply.error, reply.reason)
                self.show_theory()
            case Refused():
                self._refused(run, reply)
        self._read_if_wanted()

    def _progress(self, run: Run | None, reply: Progress) -> None:
        if run is not None:
            run.update(reply)
            self.board.fit()
        over = reply.state != "training"
        if over and self.current is not None and self.current.number == reply.number:
            self.worker.stopped()
            self.current = None
            if not self.queue and self.lesson is not None and reply.state == "finished":
                self.board.tell(self.lesson.title, self.lesson.seen)
        if run is not None and run is self.looked_at:
            if run.view is not None:
                self.board.show(run)
            if over or time.monotonic() > self.reading_due:
                self.reading_wanted, self.reading_due = True, time.monotonic() + SELDOM
        self._next()

    def _refused(self, run: Run | None, reply: Refused) -> None:
        if reply.ended and self.current is not None and self.current.number == reply.number:
            self.worker.stopped()
            if self.current.press == self.presses:  # else what waits was asked for since
                self.queue.clear()
            self.current = None
        if run is not None:
            self.board.complain(reply.lines)
        if reply.ended and run is not None:
            self._remove(run)
            self._look_at(next(reversed(list(self.runs)), None))
        self._next()

    # --- what is looked at

    def _remove(self, run: Run) -> None:
        self.board.remove(run)
        self.runs.remove(run)
        if self.looked_at is run:
            self._look_at(None)

    def _look_at(self, run: Run | None) -> None:
        """Show this run in the lower charts, and what it was trained on in the upper ones."""
        if run is not self.looked_at:
            self.board.blank()
        self.looked_at = run
        if run is None or run.begun is None:
            return
        self.board.stage(run, max(each.begun.test_length for each in self.runs if each.begun is not None))
        self.controls.read_to(run.begun.test_length)
        if run.view is not None:
            self.board.show(run)
        self.show_theory()
        self.reading_wanted = True
        self._read_if_wanted()

    def _refresh(self) -> None:
        """What is said of the runs, and what can be chosen among them."""
        self.board.describe(self.runs, self.looked_at)
        options = [(str(run.number), run.name) for run in reversed(list(self.runs))] or [("", "no curve yet")]
        value = str(self.looked_at.number) if self.looked_at else options[0][0]
        self.controls.look.update(options=options, value=value)

    def _read_if_wanted(self) -> None:
        run = self.looked_at
        if run is not None and run.view is not None and not run.alive:
            self.board.regret(run)
        if not self.reading_wanted or self.reading_asked or run is None or not run.alive:
            return
        self.reading_wanted, self.reading_asked = False, True
        self._send(Read(run.number, self.pattern, min(self.controls.length.value, run.begun.test_length)))

    def close(self) -> None:
        """The window is gone: end its process."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _on_click(button: Button, react: Callable[[], None]) -> None:
    button.on_click(lambda _: react())
