"""The runs on the page."""

# Bokeh's stubs refuse columns that are lists.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from math import isfinite, sqrt

from bokeh.models import ColumnDataSource

from classroom.charts.curves import points
from classroom.charts.styles import THEORY, Line, line
from classroom.choices import Choice
from classroom.messages import Begun, Progress, View
from classroom.words import format_digits

WORDS = {
    "waiting": "starting",
    "training": "training",
    "finished": "",
    "stopped": "stopped early",
    "diverged": "diverged: the loss is no longer a number",
    "failed": "failed",
}


END = 16  # size of the mark where a curve's training lengths end


@dataclass(eq=False)
class DemoRun:
    """A run on the page. If ``alive``, its model still exists, so it can predict sequences."""

    number: int
    choice: Choice
    name: str
    order: int
    press: int = 0  # number of the button press that started it
    state: str = "waiting"
    alive: bool = False
    begun: Begun | None = None
    view: View | None = None
    at: int = 0  # number of steps trained
    theory: tuple[Sequence[float], str] | None = None
    theory_asked: bool = False
    error: ColumnDataSource = field(default_factory=lambda: ColumnDataSource(points([], [], "")))
    loss: ColumnDataSource = field(default_factory=lambda: ColumnDataSource(points([], [], "")))

    @property
    def style(self) -> Line:
        """The style of its curves."""
        return line(self.order)

    def update(self, progress: Progress) -> None:
        """Update state, curves and view from a report of the training process."""
        self.state = progress.state
        self.at = progress.steps[-1] if progress.steps else self.at
        self.loss.data = points(*_thin(progress.steps, progress.losses), self.name, self.order)
        if progress.view is not None:
            self.view = progress.view
            error = progress.view.error
            curve = points(range(1, len(error) + 1), error, self.name, self.order)
            if self.begun is not None and self.begun.train_length <= len(error):
                curve["mark"][self.begun.train_length - 1] = END
            self.error.data = curve
        if progress.state == "diverged":
            self.alive = False

    def numbers(self) -> str:
        """Return the typical error within and beyond the training lengths, on the original scale."""
        if self.view is None or self.begun is None:
            return ""
        ends = sorted({min(self.begun.train_length, self.begun.test_length), self.begun.test_length})
        return f"off by {' and by '.join(self._off(end) for end in ends)}"

    def _off(self, length: int) -> str:
        assert self.view is not None  # only called for runs with a view
        return f"{format_value(sqrt(self.view.error[length - 1]))} at length {length}"

    def headline(self) -> str:
        """Return the progress of the run, or its error at the longest test length."""
        if self.view is None or self.begun is None or self.state == "training":
            return self.progress()
        return " · ".join(part for part in (self.progress(), f"off by {self._off(self.begun.test_length)}") if part)

    def progress(self) -> str:
        """Return the state of the run in a few words."""
        if self.state == "training" and self.begun is not None:
            return f"step {self.at} of {self.begun.steps}"
        return WORDS[self.state]


class Runs:
    """All runs on the page, oldest first. A new run gets the first unused style."""

    def __init__(self) -> None:
        self._runs: dict[int, DemoRun] = {}
        self._last = 0

    def __iter__(self) -> Iterator[DemoRun]:
        return iter(self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, number: int) -> DemoRun | None:
        """Return the run with this number, or None if it was removed."""
        return self._runs.get(number)

    def add(self, choice: Choice, name: str, press: int = 0) -> DemoRun:
        """Add a run, with the next number."""
        self._last += 1
        taken = {run.order for run in self}
        order = next(order for order in range(len(taken) + 1) if order not in taken)
        self._runs[self._last] = DemoRun(self._last, choice, name, order, press)
        return self._runs[self._last]

    def remove(self, run: DemoRun) -> None:
        """Remove a run."""
        del self._runs[run.number]

    def find_finished(self, choice: Choice) -> DemoRun | None:
        """Return the finished run of this choice, or None."""
        return next((run for run in self if run.choice == choice and run.state == "finished"), None)

    def list_unfinished(self) -> list[DemoRun]:
        """Return runs that ended early: stopped, diverged or failed."""
        return [run for run in self if run.state in ("stopped", "diverged", "failed")]

    def steps(self) -> int:
        """Return the number of steps that the loss chart shows: the most steps trained so far.

        A run in training counts with all its steps, or with about the present width of the chart if it has far more.
        """
        done = max((run.at for run in self), default=0)
        coming = [run.begun.steps for run in self if run.begun is not None and run.state == "training"]
        room = 1000
        while room < done * 1.05:  # in doublings, so that the chart's end rarely moves
            room *= 2
        return max([1, done, *(steps if steps <= 2 * room else room for steps in coming)])

    def render(self, theory: bool, task: str | None) -> str:
        """Return all runs as an HTML list, the newest first: a sample of the line, the name, the state.

        ``theory`` adds an entry for the theory's curve at the top. Only curves of ``task`` are shown.
        """
        if not len(self):
            return "no curve yet"
        hidden = {run.number: " · hidden, in another unit" for run in self if run.choice["task"] != task}
        rows = "".join(
            _row(run.style, run.name, run.headline() + hidden.get(run.number, "")) for run in reversed(list(self))
        )
        if theory:
            rows = _row(THEORY, "theory", "the best that linear attention can do") + rows
        return f'<ul style="list-style:none;margin:0;padding:0">{rows}</ul>'


def format_value(value: float) -> str:
    """Return a number for the class; very small and non-finite ones are described in words."""
    if not isfinite(value):
        return "more than can be said"
    return format_digits(value) if abs(value) >= 0.0001 or value == 0 else "less than 0.0001"


def _row(style: Line, name: str, note: str) -> str:
    dash = " ".join(str(part) for part in style.dash)
    return (
        '<li style="display:flex;gap:8px;align-items:baseline;margin-bottom:4px">'
        f'<svg width="34" height="10" style="flex:none" aria-hidden="true"><line x1="0" y1="5" x2="34" y2="5" '
        f'stroke="{style.colour}" stroke-width="4" stroke-dasharray="{dash}"/></svg>'
        f'<span><b>{escape(name)}</b><br><span style="color:#595959">{escape(note)}</span></span></li>'
    )


def _thin(steps: Sequence[int], losses: Sequence[float], most: int = 400) -> tuple[list[int], list[float]]:
    """Return at most ``most`` points of a curve, evenly spaced, including the last one."""
    every = -(-len(steps) // most) if steps else 1
    chosen = range(len(steps) - 1, -1, -every)[::-1]
    return [steps[i] for i in chosen], [losses[i] for i in chosen]
