"""One window: the handlers of its controls, and the process that trains for it."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from bokeh.document import Document
from bokeh.models import Button

from classroom import words
from classroom.board import Board
from classroom.choices import Choice, Chooser, read_sequence
from classroom.controls import Controls, on_change
from classroom.inspector import Inspector
from classroom.lessons import Lesson, Lessons
from classroom.messages import Answered, Begun, Forget, Progress, Ready, Refused, Reply, Request, Stop, Theorized, Train
from classroom.runs import Run, Runs
from classroom.worker import Gone, Worker
from synthlab.errors import InputError, in_one_line
from synthlab.output import tell

OFTEN = 100  # milliseconds between two polls of the training process
WELCOME = (
    "What can a model do with longer sequences than it has seen?",
    "Press the lessons from left to right, or choose for yourself on the left and press Train.",
)


class Options(NamedTuple):
    """The settings of a page besides its lessons: the most curves, the most symbols of a typed sequence."""

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
            line = in_one_line(error)
            tell(f"error: {handler.__name__}: {line}")
            page.board.complain([f"The page made a mistake ({line[:160]}). Press Clear and go on."])

    return guard


def pressed(handler: Callable[..., None]) -> Callable[..., None]:
    """A guarded handler that may add and remove models: Bokeh then recomputes the document's models once, at the end,
    which takes a tenth of the time."""
    careful = guarded(handler)

    @wraps(handler)
    def press(page: "Page", *args: Any) -> None:
        with page.document.models.freeze():  # an error must not leave it
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
        self.lesson: Lesson | None = None
        self.controls = Controls(chooser, {name: lesson.button for name, lesson in told.lessons.items()})
        self.board = Board()
        self.inspector = Inspector(self.board, self.controls, self.runs, self._send)
        self.board.tell(*WELCOME)
        self._wire()
        with document.models.freeze():
            for name, root in (*self.controls.roots(), *self.board.roots()):
                root.name = name
                document.add_root(root)
        document.add_periodic_callback(self.poll, OFTEN)

    @guarded
    def open(self) -> None:
        """A browser shows the window: get a process that trains for it."""
        self._see_to_worker()

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

    # --- handlers of the controls

    @pressed
    def teach(self, lesson: Lesson) -> None:
        """Train those runs of a lesson that are not on the page yet; all of them again if all are."""
        choices = self.chooser.runs(lesson)
        self._begin(choices, lesson)
        self.controls.show(choices[-1])
        self.controls.theory = lesson.theory

    @pressed
    def train(self) -> None:
        """Train the run that the controls describe."""
        self._begin([self.chooser.read(self.controls.texts())], None)

    @pressed
    def stop(self) -> None:
        """Stop training; curves and models stay."""
        self.queue.clear()
        self._ask_to_stop()

    @pressed
    def clear(self) -> None:
        """Stop training and remove all curves."""
        self.stop()
        for run in list(self.runs):
            self._remove(run)
        self.inspector.look_at(None)
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
        if run is not None and run is not self.inspector.run:
            self.inspector.look_at(run)
            self._refresh()

    @pressed
    def read(self) -> None:
        """Show what the selected run answers to the typed sequence."""
        try:
            pattern = read_sequence(self.controls.sequence.value_input or "", self.options.sequence)
        except InputError as error:
            self.board.complain_of_sequence(error.lines)
            return
        self.board.complain_of_sequence([])
        self.inspector.read(pattern)

    @pressed
    def show_theory(self) -> None:
        """Draw the error that theory gives for the selected run, or remove it."""
        self.inspector.show_theory()

    # --- training

    def _begin(self, choices: Sequence[Choice], lesson: Lesson | None) -> None:
        if self._trains(choices, lesson):
            return  # a second click
        there = [run for run in map(self.runs.finished, choices) if run is not None]
        again = len(there) == len(choices)
        # Runs already on the page stay, or are replaced one for one.
        if len(self.runs) + len(choices) - len(there) > self.options.curves:
            raise InputError(f"There is room for {self.options.curves} curves; press Clear first")
        if self.worker is not None and not self.worker.is_alive:
            self.queue.clear()
            self.lost()  # the next poll would have noticed
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
        """Whether these runs are being trained now."""
        if self.current is None or self.is_stopping:
            return False
        return lesson is self.lesson if lesson is not None else [self.current.choice, *self.queue] == choices

    def _ask_to_stop(self) -> None:
        if self.current is not None:
            self._send(Stop())

    def _next(self) -> None:
        """Train the next run of the queue, if none is being trained."""
        if self.current is None and self.queue:
            self._see_to_worker()
            choice = self.queue.pop(0)
            for run in self.runs.unfinished():
                if run.choice == choice:
                    self._remove(run)
            run = self.runs.add(choice, words.run_name(choice, self.chooser.defaults), self.presses)
            self.board.add(run)
            self.current = run
            self.inspector.look_at(run)
            self._send(Train(run.number, self.chooser.settings(choice)))
        self._refresh()

    def _see_to_worker(self) -> None:
        """Get a process if there is none. Raises InputError if there is none to be had, and empties the queue then."""
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
        """Go on after the process has ended by itself, or was killed because it did not stop in time."""
        stopping = self.is_stopping
        self._let_go()
        if self.current is not None:
            self.current.state = "stopped" if stopping else "failed"
        self.current = None
        if not stopping:
            self.queue.clear()
            self.board.complain(["The process that trains has ended, perhaps for want of memory; try a smaller model"])
        self.inspector.lost()
        self._next()

    @property
    def is_stopping(self) -> bool:
        """Whether training was asked to stop and has not confirmed it yet."""
        return self.worker is not None and self.worker.is_stopping

    def _let_go(self) -> None:
        """End the process; its models are lost with it."""
        self.close()
        for run in self.runs:
            run.alive = False

    @guarded
    def poll(self) -> None:
        """Handle the replies of the training process."""
        replies = [] if self.worker is None else self.worker.replies()
        looks = [reply for reply in replies if isinstance(reply, Progress) and reply.state == "training"]
        if len(looks) == len(replies):
            for reply in {look.number: look for look in looks}.values():  # only the latest look at a run
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
            self.inspector.answered(reply)
        run = self.runs.get(reply.number)
        match reply:
            case Begun() if run is not None:
                run.begun, run.state, run.alive = reply, "training", True
                self.inspector.look_at(run)
                self._refresh()
            case Progress():
                self._progress(run, reply)
            case Theorized() if run is not None:
                self.inspector.theorized(run, reply)
            case Refused():
                self._refused(run, reply)
        self.inspector.ask()

    def _progress(self, run: Run | None, reply: Progress) -> None:
        if run is not None:
            run.update(reply)
            self.board.fit()
        over = reply.state != "training"
        if over and self.current is not None and self.current.number == reply.number:
            assert self.worker is not None  # it trained the run
            self.worker.stopped()
            self.current = None
            if not self.queue and self.lesson is not None and reply.state == "finished":
                self.board.tell(self.lesson.title, self.lesson.seen)
        if run is not None:
            self.inspector.progressed(run, over)
        self._next()

    def _refused(self, run: Run | None, reply: Refused) -> None:
        if reply.ended and self.current is not None and self.current.number == reply.number:
            assert self.worker is not None  # it trained the run
            self.worker.stopped()
            if self.current.press == self.presses:  # else a later press has filled the queue
                self.queue.clear()
            self.current = None
        if run is not None:
            self.board.complain(reply.lines)
        if reply.ended and run is not None:
            self._remove(run)
            self.inspector.look_at(next(reversed(list(self.runs)), None))
        self._next()

    # --- the runs

    def _remove(self, run: Run) -> None:
        self.board.remove(run)
        self.runs.remove(run)
        if self.inspector.run is run:
            self.inspector.look_at(None)

    def _refresh(self) -> None:
        """Update the texts about the runs, and the choices of *Look at*."""
        looked_at = self.inspector.run
        self.board.describe(self.runs, looked_at)
        options = [(str(run.number), run.name) for run in reversed(list(self.runs))] or [("", "no curve yet")]
        value = str(looked_at.number) if looked_at else options[0][0]
        self.controls.look.update(options=options, value=value)

    def close(self) -> None:
        """End the process of this window."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _on_click(button: Button, react: Callable[[], None]) -> None:
    button.on_click(lambda _: react())
