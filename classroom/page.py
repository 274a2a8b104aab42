"""One window: what is pressed there, and what it shows."""

import time
from collections.abc import Callable, Sequence
from functools import wraps
from html import escape
from typing import Any, NamedTuple

from bokeh.document import Document
from bokeh.models import Button, ColumnDataSource, Div

from classroom import words
from classroom.charts import AnswersChart, Curves, ErrorChart, OutputsChart, points
from classroom.choices import Choice, Chooser, read_sequence
from classroom.controls import SHEET, Controls, on_change
from classroom.inside import AddedChart, AttentionChart, SequenceChart
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
from classroom.runs import Run, Runs, shown
from classroom.styles import INK, Line
from classroom.worker import Gone, Worker
from experiments.lessons import Lesson, Lessons
from experiments.views import Reading
from synthlab.errors import InputError
from synthlab.output import tell

OFTEN = 100  # milliseconds between two looks at what the process has said
SELDOM = 2.0  # seconds between two readings of the same sequence while a model trains: its charts cost the most
THEORY = Line(INK, [4, 4], "x")
WELCOME = Lesson(
    button="-",
    title="What can a model do with longer sequences than it has seen?",
    watch="Press the lessons from left to right, or choose for yourself on the left and press Train.",
    seen="-",
    runs=[{}],
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
            page.complain(error.lines)
        except Gone:
            page.lost()
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())
            tell(f"error: {handler.__name__}: {line}")
            page.complain([f"The page made a mistake ({line[:160]}). Press Clear and go on."])

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
    """A window's widgets, charts and runs, and the process that trains for it."""

    def __init__(
        self, document: Document, hire: Callable[[], Worker], chooser: Chooser, told: Lessons, options: Options
    ):
        self.document, self.hire, self.chooser, self.told, self.options = document, hire, chooser, told, options
        self.worker: Worker | None = None
        self.runs, self.queue = Runs(), list[Choice]()
        self.current: Run | None = None
        self.looked_at: Run | None = None
        self.lesson: Lesson | None = None
        self.pattern, self.reading_due = "0110", 0.0
        self.reading_asked = self.reading_wanted = False
        self.controls = Controls(chooser, {name: lesson.button for name, lesson in told.lessons.items()})
        self.story, self.message, self.typed, self.numbers, self.listed, self.command, self.answer, self.inside = (
            Div(sizing_mode="stretch_width", margin=0, disable_math=True, stylesheets=[SHEET]) for _ in range(8)
        )
        self.errors, self.losses = (
            ErrorChart(),
            Curves("Training loss", "step", "loss", "log", [("step", "@x"), ("loss", "@y{0.0e+0}")]),
        )
        self.losses.figure.xaxis.ticker.desired_num_ticks = 3  # the narrowest chart has the longest numbers
        self.answers = AnswersChart()
        self.plain = OutputsChart("Outputs in plain units", "dots: answers, bars: truth")
        self.mapped = OutputsChart("Outputs after the map", "dots: answers, bars: truth")
        self.sequence, self.attention, self.added = SequenceChart(), AttentionChart(), AddedChart()
        self._wire()
        self._tell(WELCOME, over=False)
        self.message.text = ""
        with document.models.freeze():
            for name, root in self._roots():
                root.name = name
                document.add_root(root)
        document.add_periodic_callback(self.poll, OFTEN)
        self.worker = hire()

    def _roots(self) -> list[tuple[str, Any]]:
        log, linear = (self.errors.charts[scale].figure for scale in ("log", "linear"))
        texts = ("story", "message", "typed", "numbers", "listed", "command", "answer", "inside")
        charts = ("losses", "answers", "plain", "mapped", "sequence", "attention", "added")
        return [
            *self.controls.roots(),
            *((f"text_{name}", getattr(self, name)) for name in texts),
            ("chart_log", log),
            ("chart_linear_scale", linear),
            *((f"chart_{name}", getattr(self, name).figure) for name in charts),
        ]

    def _wire(self) -> None:
        controls = self.controls
        for name, button in controls.lessons.items():
            _on_click(button, lambda lesson=self.told.lessons[name]: self.teach(lesson))
        _on_click(controls.train, self.train)
        _on_click(controls.stop, self.stop)
        _on_click(controls.clear, self.clear)
        on_change(controls.linear, "active", lambda linear: self.errors.show("linear" if linear else "log"))
        on_change(controls.theory, "active", lambda _: self.show_theory())
        on_change(controls.look, "value", self.choose)
        on_change(controls.sequence, "value_input", lambda _: self.read())
        on_change(controls.length, "value", lambda _: self.read())

    # --- what is pressed

    @pressed
    def teach(self, lesson: Lesson) -> None:
        """Train a lesson's runs, but for those that are there already; all of them if all are there."""
        choices = self.chooser.runs(lesson)
        self._begin(choices, lesson)
        self.controls.show(choices[-1])
        self.controls.theory.active = lesson.theory

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
        self._tell(WELCOME, over=False)
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
            self.typed.text = _warnings(error.lines)
            return
        self.typed.text = ""
        self.reading_wanted = True
        self._read_if_wanted()

    @pressed
    def show_theory(self) -> None:
        """Draw what theory says of the run that is looked at, or take it away."""
        for each in self.errors.charts.values():
            if "theory" in each.drawn:
                each.remove("theory")
        run = self.looked_at
        if not self.controls.theory.active or run is None:
            return
        if run.theory is None:
            if run.alive and not run.theory_asked:
                run.theory_asked = True
                self._send(Theorize(run.number))
            return
        error, reason = run.theory
        if reason:
            self.complain([reason])
            return
        name = "theory: the best that linear attention can do"
        source = ColumnDataSource(points(range(1, len(error) + 1), error, name) | {"mark": [0] * len(error)})
        for each in self.errors.charts.values():
            each.add("theory", source, THEORY, width=2)

    # --- training

    def _begin(self, choices: Sequence[Choice], lesson: Lesson | None) -> None:
        there = [run for run in map(self.runs.finished, choices) if run is not None]
        again = len(there) == len(choices)
        new = len(choices) if again else len(choices) - len(there)
        if len(self.runs) - again * len(there) + new > self.options.curves:
            raise InputError(f"There is room for {self.options.curves} curves; press Clear first")
        self.message.text = ""
        self.lesson = lesson
        if lesson is not None:
            self._tell(lesson, over=False)
        if again:
            for run in there:
                self._remove(run)
            there = []
        for run in self.runs:
            self._fade(run, run not in there)
        kept = [run.choice for run in there]
        self.queue = [choice for choice in choices if choice not in kept]
        self._ask_to_stop()
        self._next()

    def _ask_to_stop(self) -> None:
        if self.current is not None:
            self._send(Stop())

    def _next(self) -> None:
        """Train what comes next, if nothing trains."""
        if self.current is None and self.queue:
            choice = self.queue.pop(0)
            run = self.runs.add(choice, words.run_name(choice, self.chooser.defaults))
            for each in self.errors.charts.values():
                each.add(run.number, run.error, run.style)
            self.losses.add(run.number, run.loss, run.style)
            self.current = run
            self._look_at(run)
            self._send(Train(run.number, self.chooser.settings(choice)))
        self._refresh()

    def _send(self, request: Request) -> None:
        if self.worker is None:
            self.worker = self.hire()
        self.worker.send(request)

    def lost(self) -> None:
        """Go on after the process has ended: by itself, or since it did not stop when asked to."""
        stopping = self.worker is not None and self.worker.is_stopping
        if self.worker is not None:
            self.worker.close()
        self.worker, self.reading_asked = None, False
        for run in self.runs:
            run.alive = False
        if self.current is not None:
            self.current.state = "stopped" if stopping else "failed"
        self.current = None
        if not stopping:
            self.queue.clear()
            self.complain(["The process that trains has ended, perhaps for want of memory; try a smaller model"])
        self._next()

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
            case Answered() if run is not None and run is self.looked_at:
                self._show_reading(run, reply.reading)
            case Theorized() if run is not None:
                run.theory = (reply.error, reply.reason)
                self.show_theory()
            case Refused():
                self._refused(run, reply)
        self._read_if_wanted()

    def _progress(self, run: Run | None, reply: Progress) -> None:
        if run is not None:
            run.update(reply)
            for each in (*self.errors.charts.values(), self.losses):
                each.fit()
        over = reply.state != "training"
        if over and self.current is not None and self.current.number == reply.number:
            self.worker.stopped()
            self.current = None
            if not self.queue and self.lesson is not None and reply.state == "finished":
                self._tell(self.lesson, over=True)
        if run is not None and run is self.looked_at:
            self._show_view(run)
            if over or time.monotonic() > self.reading_due:
                self.reading_wanted, self.reading_due = True, time.monotonic() + SELDOM
        self._next()

    def _refused(self, run: Run | None, reply: Refused) -> None:
        self.complain(reply.lines)
        if reply.ended:
            self.queue.clear()
            self.worker.stopped()
            if run is not None:
                self._remove(run)
            if self.current is run:
                self.current = None
            self._look_at(next(reversed(list(self.runs)), None))
            self._refresh()

    # --- what is shown

    def complain(self, lines: Sequence[str]) -> None:
        """Say in one plain line each what will not do."""
        self.message.text = _warnings(lines)

    def _tell(self, lesson: Lesson, over: bool) -> None:
        text = lesson.seen if over else lesson.watch
        title = lesson.title if lesson.title.endswith("?") else f"{lesson.title}."
        self.story.text = f"<b>{escape(title)}</b> {escape(text)}"

    def _remove(self, run: Run) -> None:
        for each in (*self.errors.charts.values(), self.losses):
            each.remove(run.number)
        self.runs.remove(run)
        if self.looked_at is run:
            self._look_at(None)

    def _fade(self, run: Run, faded: bool) -> None:
        for each in (*self.errors.charts.values(), self.losses):
            each.fade(run.number, faded)

    def _look_at(self, run: Run | None) -> None:
        """Show this run in the lower charts, and what it was trained on in the upper ones."""
        self.looked_at = run
        if run is None or run.begun is None:
            return
        longest = max(each.begun.test_length for each in self.runs if each.begun is not None)
        self.errors.stage(run.begun.train_length, longest)
        self.controls.length.update(end=max(2, run.begun.test_length))
        self.controls.length.value = min(self.controls.length.value, run.begun.test_length)
        name = words.word("outrep", run.choice["outrep"])
        plain = run.choice["outrep"] == "identity"
        self.mapped.figure.title.text = "No map: the same" if plain else f"Outputs after the map {name}"
        self._show_view(run)
        self.show_theory()
        self.reading_wanted = run.alive

    def _show_view(self, run: Run) -> None:
        if run.view is None or run.begun is None:
            return
        natural, represented = run.begun.seen
        length = run.begun.train_length
        self.answers.update(run.view.dots, length)
        self.plain.update(run.view.dots, "answers", "truth", natural, length)
        self.mapped.update(run.view.dots, "outputs", "mapped", represented, length)

    def _refresh(self) -> None:
        """The list of runs, and what is said of the one that is looked at."""
        self.listed.text = self.runs.listed()
        options = [(str(run.number), run.name) for run in reversed(list(self.runs))] or [("", "no curve yet")]
        run = self.looked_at
        self.controls.look.update(options=options, value=str(run.number) if run else options[0][0])
        steps = [each.begun.steps for each in self.runs if each.begun is not None]
        self.losses.figure.x_range.update(start=0, end=max(steps, default=1))
        self.numbers.text = "" if run is None else f"<b>{escape(run.name)}</b>: {escape(_joined(run))}"
        self.command.text = (
            f"The same at the command line: <code>{escape(run.begun.command)}</code>" if run and run.begun else ""
        )

    def _read_if_wanted(self) -> None:
        run = self.looked_at
        if not self.reading_wanted or self.reading_asked or run is None or not run.alive:
            return
        self.reading_wanted = False
        self._send(Read(run.number, self.pattern, self.controls.length.value))
        self.reading_asked = True

    def _show_reading(self, run: Run, reading: Reading) -> None:
        self.sequence.update(reading, run.begun.train_length)
        self.attention.update(reading)
        self.added.update(reading)
        truth, answer = reading.truth[reading.length - 1], reading.answers[reading.length - 1]
        symbols = reading.symbols[: reading.length]
        typed = symbols if len(symbols) <= 60 else f"{symbols[:60]}…"
        beyond = reading.length > run.begun.train_length
        where = "longer than any it has trained on" if beyond else "a length it has trained on"
        self.answer.text = (
            f'<span style="font-size:20px">{run.choice["task"]}: truth <b>{shown(truth)}</b>, the model says '
            f"<b>{shown(answer)}</b></span><br>{reading.length} symbols, {where}: <code>{typed}</code>"
        )
        none = run.choice["encoding"] == "nope" and reading.added
        self.inside.text = (
            "Linear attention has no softmax to show, and no position encoding."
            if not reading.attention
            else "NoPE adds nothing: the picture is blank."
            if none
            else ""
        )

    def close(self) -> None:
        """The window is gone: end its process."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _warnings(lines: Sequence[str]) -> str:
    return "<br>".join(f"<b>⚠ {escape(line)}</b>" for line in lines)


def _joined(run: Run) -> str:
    return " · ".join(part for part in (run.progress(), run.numbers()) if part)


def _on_click(button: Button, react: Callable[[], None]) -> None:
    button.on_click(lambda _: react())
