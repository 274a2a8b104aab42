"""One window: its controls, and their handlers."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from bokeh.document import Document
from bokeh.models import Button

from classroom.board import Board
from classroom.choices import Chooser, read_sequence
from classroom.controls import Controls, on_change
from classroom.lessons import Lesson, Lessons
from classroom.messages import Progress, Reply
from classroom.training_session import TrainingSession
from classroom.worker import Gone, Worker
from synthlab.errors import InputError, format_error
from synthlab.output import print_err

OFTEN = 100  # milliseconds between two polls of the training process
QUESTION = "What can a model do with longer sequences than it has seen?"


def guarded(handler: Callable[..., None]) -> Callable[..., None]:
    """Return a handler of ``Page`` whose errors become one line on the page, while the server continues.

    It may add and remove models: Bokeh recomputes those of the document once, at the end, in a tenth of the time.
    """

    @wraps(handler)
    def guard(page: "Page", *args: Any) -> None:
        with page.document.models.freeze():  # an error must not end the context
            page.attempt(handler, page, *args)

    return guard


class Options(NamedTuple):
    """The settings of a page besides its lessons: the most curves, the most symbols of a typed sequence."""

    curves: int
    sequence: int


class Page:
    """A window's controls and runs, the board that shows them, and the process that trains."""

    def __init__(
        self, document: Document, hire: Callable[[], Worker], chooser: Chooser, told: Lessons, options: Options
    ):
        self.document, self.chooser, self.told, self.options = document, chooser, told, options
        self.controls = Controls(chooser, {name: lesson.button for name, lesson in told.lessons.items()})
        self.board = Board()
        self.training = TrainingSession(hire, chooser, self.controls, self.board, options.curves)
        self.runs, self.inspector = self.training.runs, self.training.inspector
        self._welcome()
        self._wire()
        with document.models.freeze():
            for name, root in (*self.controls.roots(), *self.board.roots()):
                root.name = name
                document.add_root(root)
        document.add_periodic_callback(self.poll, OFTEN)

    @guarded
    def open(self) -> None:
        """Start a process for the window when a browser shows it."""
        self.training.see_to_worker()

    def attempt(self, handler: Callable[..., None], *args: Any) -> None:
        """Call a handler; an error becomes one line on the page."""
        try:
            handler(*args)
        except InputError as error:
            self.board.complain(error.lines)
        except Gone:
            self.attempt(self.training.recover)
        except Exception as error:
            line = format_error(error)
            print_err(f"error: {handler.__name__}: {line}")
            self.board.complain([f"The page made a mistake ({line[:160]}). Press Clear and go on."])

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

    def _welcome(self) -> None:
        """Say what to press first."""
        first = f"Press “{next(iter(self.controls.lessons.values())).label}”"
        self.board.tell(QUESTION, f"{first}, then the other lessons in their order. Or choose a run and press Train.")
        lengths = (int(self.chooser.defaults[key]) for key in ("train_length", "test_length"))
        self.board.welcome(first, *lengths)
        self.training.refresh()

    # --- handlers of the controls

    @guarded
    def teach(self, lesson: Lesson) -> None:
        """Train those runs of a lesson that are not on the page yet; all of them again if all are."""
        choices = self.chooser.runs(lesson)
        self.training.begin(choices, lesson)
        self.controls.show(choices[-1])
        self.controls.tick(lesson.scale, lesson.theory)

    @guarded
    def train(self) -> None:
        """Train the run that the controls describe."""
        self.training.begin([self.chooser.read(self.controls.texts())], None)

    @guarded
    def stop(self) -> None:
        """Stop training; curves and models stay."""
        self.training.stop()

    @guarded
    def clear(self) -> None:
        """Stop training and remove all curves."""
        self.stop()
        self.board.complain([])
        self.training.clear()
        self._welcome()

    @guarded
    def choose(self, number: str) -> None:
        """Select another run."""
        run = self.runs.get(int(number)) if number.isdigit() else None
        if run is not None and run is not self.inspector.run:
            self.inspector.look_at(run)
            self.training.refresh()

    @guarded
    def read(self) -> None:
        """Show the selected run's predictions for the typed sequence."""
        try:
            pattern = read_sequence(self.controls.sequence.value_input or "", self.options.sequence)
        except InputError as error:
            self.board.complain_of_sequence(error.lines)
            return
        self.board.complain_of_sequence([])
        self.inspector.read(pattern)

    @guarded
    def show_theory(self) -> None:
        """Plot the theoretical error of the selected run, or remove it."""
        self.inspector.show_theory()

    # --- the process

    def poll(self) -> None:
        """Handle the replies of the training process."""
        self.attempt(self._poll)

    def _poll(self) -> None:
        replies = self.training.replies()
        views = [reply for reply in replies if isinstance(reply, Progress) and reply.state == "training"]
        if len(views) == len(replies):  # which add no models
            for reply in {view.number: view for view in views}.values():  # only the latest view of each run
                self.training.take(reply)
        else:
            self._hear(replies)

    @guarded
    def _hear(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            self.training.take(reply)

    def close(self) -> None:
        """End the process of this window."""
        self.training.close()


def _on_click(button: Button, react: Callable[[], None]) -> None:
    button.on_click(lambda _: react())
