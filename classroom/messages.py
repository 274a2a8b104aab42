"""The messages between the page and its training process: plain values, fast to import."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

# --- what is shown of a model


class Dots(NamedTuple):
    """Predictions and targets at one length, for a few sequences.

    ``outputs`` and ``mapped`` are the model's outputs, before clipping, and the targets in representation space.
    """

    length: int
    truth: list[float]
    answers: list[float]
    mapped: list[float]
    outputs: list[float]


class View(NamedTuple):
    """A model at one training step: the mean squared error at each length 1..test_length, and a few predictions."""

    error: list[float]
    dots: list[Dots]


class Reading(NamedTuple):
    """A model's predictions for one sequence, and the targets, for each prefix.

    ``attention`` (a list for each head) is that of the readout of the requested prefix, on BOS, its symbols and EOS;
    it is empty for the theory's linear attention.
    """

    symbols: str
    length: int
    answers: list[float]
    truth: list[float]
    attention: list[list[float]]


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
