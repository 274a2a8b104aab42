"""The charts and texts of a window."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from bokeh.models import ColumnDataSource, Div, UIElement

from classroom import words
from classroom.charts.curves import CurvesChart, ErrorChart, OutputsChart, points
from classroom.charts.inside import AttentionChart, SequenceChart
from classroom.charts.styles import THEORY
from classroom.controls import SHEET
from classroom.messages import Reading
from classroom.runs import DemoRun, Runs, format_value

READABLE = 60  # the most symbols of a sequence that are written out


class Board:
    """The charts and texts of one window."""

    def __init__(self) -> None:
        self.story, self.message, self.typed, self.numbers, self.listed, self.command, self.answer, self.inside = (
            Div(sizing_mode="stretch_width", margin=0, disable_math=True, stylesheets=[SHEET]) for _ in range(8)
        )
        self.message.visible = self.typed.visible = False  # an empty line would take space
        self.errors = ErrorChart()
        self.losses = CurvesChart("Training loss", "training steps", "loss\n(unit of the output, squared)", "log")
        # The narrowest chart has the longest numbers. In Bokeh's stubs a ticker is any ticker, a title any text.
        self.losses.figure.xaxis.ticker.desired_num_ticks = 3  # pyright: ignore[reportAttributeAccessIssue]
        self.plain, self.mapped = OutputsChart("Dots: answers, bars: truth"), OutputsChart("")
        self.sequence, self.attention = SequenceChart(), AttentionChart()

    def roots(self) -> Iterator[tuple[str, UIElement]]:
        """Yield each chart and text with the name by which the page's template places it."""
        for name in ("story", "message", "typed", "numbers", "listed", "command", "answer", "inside"):
            yield f"text_{name}", getattr(self, name)
        for scale, curves in self.errors.charts.items():
            yield f"chart_{scale}", curves.figure
        for name in ("losses", "plain", "mapped", "sequence", "attention"):
            yield f"chart_{name}", getattr(self, name).figure

    def welcome(self, hint: str, train_length: int, test_length: int) -> None:
        """Show the lengths that will be trained and tested, and a hint; no chart that has nothing to show."""
        self.errors.stage(train_length, test_length)
        self.errors.give_hint(hint)
        for each in (self.losses, self.plain, self.mapped):
            each.figure.visible = False

    # --- texts

    def tell(self, title: str, text: str) -> None:
        """Show the text of a lesson: what to watch, or what happened."""
        title = title if title.endswith("?") else f"{title}."
        self.story.text = f"<b>{escape(title)}</b> {escape(text)}"

    def complain(self, lines: Sequence[str]) -> None:
        """Show a line for each problem; without lines, clear them."""
        self.message.update(text=_warnings(lines), visible=bool(lines))

    def complain_of_sequence(self, lines: Sequence[str]) -> None:
        """Show a line for each problem with the typed sequence; without lines, clear them."""
        self.typed.update(text=_warnings(lines), visible=bool(lines))

    def describe(self, runs: Runs, looked_at: DemoRun | None) -> None:
        """List the runs, and show the errors of the selected run and the command that trains it."""
        task = None if looked_at is None else looked_at.choice["task"]
        self.listed.text = runs.render("theory" in self.errors.charts["log"].drawn, task)
        self.losses.figure.x_range.update(start=0, end=runs.steps())
        numbers = command = ""
        if looked_at is not None:
            state = " · ".join(part for part in (looked_at.progress(), looked_at.numbers()) if part)
            numbers = f"<b>{escape(looked_at.name)}</b>: {escape(state)}"
            if looked_at.begun is not None:
                to_the_end = "" if looked_at.state in ("training", "finished") else ", to the end"
                command = f"The same at the command line{to_the_end}: <code>{escape(looked_at.begun.command)}</code>"
        # Each is set once: a text that is cleared first flickers.
        self.numbers.text, self.command.text = numbers, command

    # --- curves

    def add(self, run: DemoRun) -> None:
        """Add a run's curves."""
        for each in self.errors.charts.values():
            each.add(run.number, run.error, run.style)
        self.losses.add(run.number, run.loss, run.style)

    def remove(self, run: DemoRun) -> None:
        """Remove a run's curves."""
        for each in self._curves():
            each.remove(run.number)

    def fade(self, run: DemoRun, faded: bool) -> None:
        """Move its curves to the background, or back."""
        for each in self._curves():
            each.fade(run.number, faded)

    def show_task(self, runs: Runs, task: str) -> None:
        """Show the curves of this task alone, since errors of other tasks have other units."""
        for run in runs:
            for each in self._curves():
                each.show(run.number, run.choice["task"] == task)
        self.fit()

    def fit(self) -> None:
        """Fit the axes to all curves that are shown."""
        for each in self._curves():
            each.fit()

    def draw_theory(self, error: Sequence[float]) -> None:
        """Plot the minimal error in theory; without values, remove it."""
        for each in self.errors.charts.values():
            each.remove("theory")
        if error:
            name = "theory: the best that linear attention can do"
            columns: Any = points(range(1, len(error) + 1), error, name) | {"mark": [0] * len(error)}
            source = ColumnDataSource(columns)
            for each in self.errors.charts.values():
                each.add("theory", source, THEORY, width=2)
        self.fit()

    def _curves(self) -> list[CurvesChart]:
        return [*self.errors.charts.values(), self.losses]

    # --- one run

    def stage(self, run: DemoRun, longest: int) -> None:
        """Prepare the charts for this run; ``longest`` is the maximal test length of all runs."""
        assert run.begun is not None  # only runs that train or have trained can be selected
        self.errors.stage(run.begun.train_length, longest)
        self.errors.give_hint("")
        self.losses.figure.visible = self.plain.figure.visible = True
        unit, name = words.unit_of(run.choice["task"]), words.word("outrep", run.choice["outrep"])
        self.sequence.figure.yaxis.axis_label = f"answer ({unit})"
        self.plain.figure.xaxis.axis_label = f"answer ({unit})"
        self.mapped.figure.xaxis.axis_label = f"{name}, with x in {unit}"
        title = f"The same after the map {name}"
        self.mapped.figure.title.text = title  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        self.mapped.figure.visible = run.choice["outrep"] != "identity"

    def show(self, run: DemoRun) -> None:
        """Show the current predictions of the run's model."""
        assert run.begun is not None
        assert run.view is not None
        natural, represented = run.begun.seen
        length = run.begun.train_length
        self.plain.update(run.view.dots, "answers", "truth", natural, length)
        self.mapped.update(run.view.dots, "outputs", "mapped", represented, length)

    def show_reading(self, run: DemoRun, reading: Reading) -> None:
        """Show the model's predictions for a sequence."""
        assert run.begun is not None
        self.sequence.update(reading, run.begun.train_length, run.style)
        self.attention.update(reading)
        truth, answer = reading.truth[reading.length - 1], reading.answers[reading.length - 1]
        symbols = reading.symbols[: reading.length]
        spelt = symbols if len(symbols) <= READABLE else f"{symbols[:READABLE]}…"
        beyond = reading.length > run.begun.train_length
        where = "longer than any it has trained on" if beyond else "a length it has trained on"
        self.answer.text = (
            f'<span style="font-size:20px">{escape(run.name)}: truth <b>{format_value(truth)}</b>, the model says '
            f"<b>{format_value(answer)}</b></span><br>{reading.length} symbols, {where}: <code>{spelt}</code>"
        )
        self.attention.figure.visible = bool(reading.attention)
        self.inside.text = "" if reading.attention else "Linear attention has no softmax to show."

    def regret(self, run: DemoRun) -> None:
        """Show that the run has no model."""
        self.sequence.clear()
        self.attention.clear()
        self.inside.text = ""
        self.answer.text = f"{escape(run.name)}: this model is no longer in memory; train it again to ask it."

    def clear(self) -> None:
        """Clear all charts."""
        self.draw_theory([])
        for each in (self.plain, self.mapped, self.sequence, self.attention):
            each.clear()
        self.answer.text = self.inside.text = ""


def _warnings(lines: Sequence[str]) -> str:
    return "<br>".join(f"<b>⚠ {escape(line)}</b>" for line in lines)
