"""The messages between the page and its training process: plain values, fast to import."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from classroom.charts.views import Reading, View

# --- the page asks; runs have numbers


class Train(NamedTuple):
    """Train a run of these settings, by dotted key."""

    number: int
    settings: Mapping[str, Any]


class Stop(NamedTuple):
    """Stop training, and keep the model."""


class Read(NamedTuple):
    """Run a model on ``pattern``, repeated to the test length, and inspect its attention at ``length``."""

    number: int
    pattern: str
    length: int


class Theorize(NamedTuple):
    """Compute the minimal error of linear attention for a run's task and map."""

    number: int


class Forget(NamedTuple):
    """Delete all models."""


Request = Train | Stop | Read | Theorize | Forget

# --- the process answers


class Ready(NamedTuple):
    """The process has imported everything and is ready."""


class Begun(NamedTuple):
    """The start of a run's training.

    ``seen`` has the minimal and maximal training targets, on the original scale and in representation space;
    ``command`` trains and records the same run.
    """

    number: int
    steps: int
    train_length: int
    test_length: int
    seen: tuple[tuple[float, float], tuple[float, float]]
    command: str


class Progress(NamedTuple):
    """A run's training curve so far, and a view of its model, or None."""

    number: int
    state: Literal["training", "finished", "stopped", "diverged"]
    steps: Sequence[int]
    losses: Sequence[float]
    view: View | None


class Answered(NamedTuple):
    """A model's predictions for a sequence; None if the model was deleted."""

    number: int
    reading: Reading | None


class Theorized(NamedTuple):
    """The minimal error of linear attention at each length, for a run's task and map; or why it is unknown."""

    number: int
    error: Sequence[float]
    reason: str


class Refused(NamedTuple):
    """A refused request, with a line for each reason. If ``ended``, the run will not train."""

    number: int
    lines: Sequence[str]
    ended: bool


Reply = Ready | Begun | Progress | Answered | Theorized | Refused
