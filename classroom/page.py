"""One window: its controls, and their handlers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bokeh.document import Document
from bokeh.models import Button

from classroom.board import Board
from classroom.choices import Chooser, read_sequence
from classroom.controls import Controls, on_change
from classroom.handlers import guard_handler, guard_press
from classroom.lessons.lesson import Lesson, Lessons
from classroom.messages import Progress, Reply
from classroom.training_session import TrainingSession
from classroom.worker import Worker
from synthlab.errors import InputError

OFTEN = 100  # milliseconds between two polls of the training process
WELCOME = (
    "What can a model do with longer sequences than it has seen?",
    "Press the lessons from left to right, or choose for yourself on the left and press Train.",
)


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
        self.board.tell(*WELCOME)
        self._wire()
        with document.models.freeze():
            for name, root in (*self.controls.roots(), *self.board.roots()):
                root.name = name
                document.add_root(root)
        document.add_periodic_callback(self.poll, OFTEN)

    @guard_handler
    def open(self) -> None:
        """Start a process for the window when a browser shows it."""
        self.training.see_to_worker()

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

    @guard_press
    def teach(self, lesson: Lesson) -> None:
        """Train those runs of a lesson that are not on the page yet; all of them again if all are."""
        choices = self.chooser.runs(lesson)
        self.training.begin(choices, lesson)
        self.controls.show(choices[-1])
        self.controls.tick(lesson.scale, lesson.theory)

    @guard_press
    def train(self) -> None:
        """Train the run that the controls describe."""
        self.training.begin([self.chooser.read(self.controls.texts())], None)

    @guard_press
    def stop(self) -> None:
        """Stop training; curves and models stay."""
        self.training.stop()

    @guard_press
    def clear(self) -> None:
        """Stop training and remove all curves."""
        self.stop()
        self.board.tell(*WELCOME)
        self.board.complain([])
        self.training.clear()

    @guard_press
    def choose(self, number: str) -> None:
        """Select another run."""
        run = self.runs.get(int(number)) if number.isdigit() else None
        if run is not None and run is not self.inspector.run:
            self.inspector.look_at(run)
            self.training.refresh()

    @guard_press
    def read(self) -> None:
        """Show the selected run's predictions for the typed sequence."""
        try:
            pattern = read_sequence(self.controls.sequence.value_input or "", self.options.sequence)
        except InputError as error:
            self.board.complain_of_sequence(error.lines)
            return
        self.board.complain_of_sequence([])
        self.inspector.read(pattern)

    @guard_press
    def show_theory(self) -> None:
        """Plot the theoretical error of the selected run, or remove it."""
        self.inspector.show_theory()

    # --- the process

    @guard_handler
    def recover(self) -> None:
        """Recover after the process has ended."""
        self.training.recover()

    @guard_handler
    def poll(self) -> None:
        """Handle the replies of the training process."""
        replies = self.training.replies()
        looks = [reply for reply in replies if isinstance(reply, Progress) and reply.state == "training"]
        if len(looks) == len(replies):
            for reply in {look.number: look for look in looks}.values():  # only the latest view of each run
                self.training.take(reply)
        else:
            self._hear(replies)

    @guard_press
    def _hear(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            self.training.take(reply)

    def close(self) -> None:
        """End the process of this window."""
        self.training.close()


def _on_click(button: Button, react: Callable[[], None]) -> None:
    button.on_click(lambda _: react())
