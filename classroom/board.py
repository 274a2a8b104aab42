"""What a window shows: charts, and texts beside them."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from bokeh.models import ColumnDataSource, Div, UIElement

from classroom import words
from classroom.charts import AnswersChart, Curves, ErrorChart, OutputsChart, points
from classroom.controls import SHEET
from classroom.inside import AddedChart, AttentionChart, SequenceChart
from classroom.runs import Run, Runs, shown
from classroom.styles import THEORY
from classroom.views import Reading

READABLE = 60  # symbols of a sequence that are spelt out


class Board:
    """Charts and texts of one window; it is told what to show."""

    def __init__(self) -> None:
        self.story, self.message, self.typed, self.numbers, self.listed, self.command, self.answer, self.inside = (
            Div(sizing_mode="stretch_width", margin=0, disable_math=True, stylesheets=[SHEET]) for _ in range(8)
        )
        self.errors = ErrorChart()
        self.losses = Curves("Training loss", "step", "loss", "log")
        # The narrowest chart has the longest numbers. To Bokeh's stubs a ticker is any ticker, a title any text.
        self.losses.figure.xaxis.ticker.desired_num_ticks = 3  # pyright: ignore[reportAttributeAccessIssue]
        self.answers = AnswersChart()
        self.plain = OutputsChart("Outputs in plain units", "dots: answers, bars: truth")
        self.mapped = OutputsChart("Outputs after the map", "dots: answers, bars: truth")
        self.sequence, self.attention, self.added = SequenceChart(), AttentionChart(), AddedChart()

    def roots(self) -> Iterator[tuple[str, UIElement]]:
        """Each chart and text with the name by which the page's template places it."""
        for name in ("story", "message", "typed", "numbers", "listed", "command", "answer", "inside"):
            yield f"text_{name}", getattr(self, name)
        for scale, curves in self.errors.charts.items():
            yield f"chart_{scale}", curves.figure
        for name in ("losses", "answers", "plain", "mapped", "sequence", "attention", "added"):
            yield f"chart_{name}", getattr(self, name).figure

    # --- texts

    def tell(self, title: str, text: str) -> None:
        """What to watch, or what was seen."""
        title = title if title.endswith("?") else f"{title}."
        self.story.text = f"<b>{escape(title)}</b> {escape(text)}"

    def complain(self, lines: Sequence[str]) -> None:
        """What will not do, a plain line for each; no line takes an earlier complaint back."""
        self.message.text = _warnings(lines)

    def complain_of_sequence(self, lines: Sequence[str]) -> None:
        """The same beside the typed sequence."""
        self.typed.text = _warnings(lines)

    def describe(self, runs: Runs, looked_at: Run | None) -> None:
        """List the runs, and say of the one that is looked at how far off it is and what trains it."""
        self.listed.text = runs.listed("theory" in self.errors.charts["log"].drawn)
        self.losses.figure.x_range.update(start=0, end=runs.steps())
        numbers = command = ""
        if looked_at is not None:
            state = " · ".join(part for part in (looked_at.progress(), looked_at.numbers()) if part)
            numbers = f"<b>{escape(looked_at.name)}</b>: {escape(state)}"
            if looked_at.begun is not None:
                to_the_end = "" if looked_at.state in ("training", "finished") else ", to the end"
                command = f"The same at the command line{to_the_end}: <code>{escape(looked_at.begun.command)}</code>"
        self.numbers.text, self.command.text = numbers, command  # once each: what is emptied first flickers

    # --- curves

    def add(self, run: Run) -> None:
        """A run's curves."""
        for each in self.errors.charts.values():
            each.add(run.number, run.error, run.style)
        self.losses.add(run.number, run.loss, run.style)

    def remove(self, run: Run) -> None:
        """Take its curves away."""
        for each in self._curves():
            each.remove(run.number)

    def fade(self, run: Run, faded: bool) -> None:
        """Move its curves to the background, or back."""
        for each in self._curves():
            each.fade(run.number, faded)

    def fit(self) -> None:
        """Make room for all curves."""
        for each in self._curves():
            each.fit()

    def draw_theory(self, error: Sequence[float]) -> None:
        """The least error that theory allows; none takes it away."""
        for each in self.errors.charts.values():
            each.remove("theory")
        if error:
            name = "theory: the best that linear attention can do"
            columns: Any = points(range(1, len(error) + 1), error, name) | {"mark": [0] * len(error)}
            source = ColumnDataSource(columns)
            for each in self.errors.charts.values():
                each.add("theory", source, THEORY, width=2)
        self.fit()

    def _curves(self) -> list[Curves]:
        return [*self.errors.charts.values(), self.losses]

    # --- one run

    def stage(self, run: Run, longest: int) -> None:
        """Make ready for what is seen of this run; ``longest`` is the greatest test length of all."""
        assert run.begun is not None  # only runs that train or have trained are looked at
        self.errors.stage(run.begun.train_length, longest)
        name = words.word("outrep", run.choice["outrep"])
        plain = run.choice["outrep"] == "identity"
        title = "No map: the same" if plain else f"Outputs after the map {name}"
        self.mapped.figure.title.text = title  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]

    def show(self, run: Run) -> None:
        """What the run's model answers at the moment."""
        assert run.begun is not None
        assert run.view is not None
        natural, represented = run.begun.seen
        length = run.begun.train_length
        self.answers.update(run.view.dots, length)
        self.plain.update(run.view.dots, "answers", "truth", natural, length)
        self.mapped.update(run.view.dots, "outputs", "mapped", represented, length)

    def show_reading(self, run: Run, reading: Reading) -> None:
        """What the run's model makes of a sequence."""
        assert run.begun is not None
        self.sequence.update(reading, run.begun.train_length, run.style)
        self.attention.update(reading)
        self.added.update(reading)
        truth, answer = reading.truth[reading.length - 1], reading.answers[reading.length - 1]
        symbols = reading.symbols[: reading.length]
        spelt = symbols if len(symbols) <= READABLE else f"{symbols[:READABLE]}…"
        beyond = reading.length > run.begun.train_length
        where = "longer than any it has trained on" if beyond else "a length it has trained on"
        self.answer.text = (
            f'<span style="font-size:20px">{escape(run.name)}: truth <b>{shown(truth)}</b>, the model says '
            f"<b>{shown(answer)}</b></span><br>{reading.length} symbols, {where}: <code>{spelt}</code>"
        )
        self.inside.text = ""
        if not reading.attention:
            self.inside.text = "Linear attention has no softmax to show, and no position encoding."
        elif run.choice["encoding"] == "nope":
            self.inside.text = "NoPE adds nothing: the squares are all of one colour."

    def regret(self, run: Run) -> None:
        """Say that the run's model cannot be asked."""
        for each in (self.sequence, self.attention, self.added):
            each.clear()
        self.inside.text = ""
        self.answer.text = f"{escape(run.name)}: this model is no longer in memory; train it again to ask it."

    def blank(self) -> None:
        """Show nothing of any run."""
        self.draw_theory([])
        for each in (self.answers, self.plain, self.mapped, self.sequence, self.attention, self.added):
            each.clear()
        self.answer.text = self.inside.text = ""


def _warnings(lines: Sequence[str]) -> str:
    return "<br>".join(f"<b>⚠ {escape(line)}</b>" for line in lines)
