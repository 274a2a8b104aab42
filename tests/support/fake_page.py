"""A page without a browser, and without the process behind it."""

from bokeh.document import Document
from bokeh.events import ButtonClick

from classroom.messages import Begun, Dots, Progress, Reading, Request, Stop, View
from classroom.page import Options, Page
from classroom.worker import Gone

TEST_LENGTH, TRAIN_LENGTH = 6, 3
READING = Reading("011011", 2, [1.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [[0.25] * 4])


class FakeWorker:
    """Stands for the process that trains: notes what it is asked, and says what the test has it say."""

    def __init__(self):
        self.asked: list[Request] = []
        self.said: list = []
        self.is_stopping = self.is_gone = self.is_closed = False

    def send(self, request):
        if self.is_gone:
            raise Gone
        self.is_stopping = self.is_stopping or isinstance(request, Stop)
        self.asked.append(request)

    def replies(self):
        if self.is_gone:
            raise Gone
        said, self.said = self.said, []
        return said

    @property
    def is_alive(self):
        return not self.is_gone and not self.is_closed

    def note_stopped(self):
        self.is_stopping = False

    def close(self):
        self.is_closed = True


class Window:
    """A page with a fake worker behind it, pressed and read by tests."""

    def __init__(self, config, chooser):
        self.workers: list[FakeWorker] = []
        document = Document()
        self.page = Page(document, self.hire, chooser, config[1], Options(20, config[0].sequence))
        document.models.recompute = lambda: None  # most of what a press costs, and no browser follows the document
        self.page.open()

    def hire(self) -> FakeWorker:
        self.workers.append(FakeWorker())
        return self.workers[-1]

    @property
    def names(self) -> list[str]:
        return [run.name for run in self.page.runs]

    @property
    def drawn(self) -> set[int]:
        return set(self.page.board.errors.charts["log"].drawn)

    @property
    def worker(self) -> FakeWorker:
        return self.workers[-1]

    def press(self, name: str) -> None:
        controls = self.page.controls
        buttons = [*controls.lessons.values(), controls.train, controls.stop, controls.clear]
        button = next(each for each in buttons if each.label == name)
        button._trigger_event(ButtonClick(button))

    def hear(self, *replies) -> None:
        self.worker.said += replies
        self.page.poll()

    def asked(self, kind: type) -> list:
        return [request for request in self.worker.asked if isinstance(request, kind)]

    def trains(self, number: int, state: str = "finished", error: float = 0.5) -> None:
        self.hear(begun(number))
        self.hear(progress(number, state, error))


def begun(number: int) -> Begun:
    return Begun(number, 4, TRAIN_LENGTH, TEST_LENGTH, ((1.0, 3.0), (1.0, 3.0)), f"synthlab seed={number}")


def progress(number: int, state: str = "training", error: float = 0.5) -> Progress:
    return Progress(number, state, [2, 4], [1.0, 0.5], view(error))


def view(error: float = 0.5) -> View:
    dots = [
        Dots(length, [float(length)] * 3, [length + 0.5] * 3, [float(length)] * 3, [length + 0.5] * 3)
        for length in (1, 3, 6)
    ]
    return View([error] * TEST_LENGTH, dots)
