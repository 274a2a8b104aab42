"""What the page and the process that trains for it say to each other. All are plain values, and light to import."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from classroom.views import Reading, View

# --- the page asks; runs have numbers


class Train(NamedTuple):
    """Train a run of these settings, by dotted key."""

    number: int
    settings: Mapping[str, Any]


class Stop(NamedTuple):
    """Leave off training, and keep the model as it is."""


class Read(NamedTuple):
    """Have a run's model read ``pattern``, repeated to its test length, and look inside it at ``length``."""

    number: int
    pattern: str
    length: int


class Theorize(NamedTuple):
    """The least error that linear attention can have where a run has its own."""

    number: int


class Forget(NamedTuple):
    """Let go of all models."""


Request = Train | Stop | Read | Theorize | Forget

# --- the process answers


class Ready(NamedTuple):
    """Everything is imported and warm."""


class Begun(NamedTuple):
    """A run's training begins. ``seen`` are the least and greatest targets of its training, in natural units and in
    representation space; ``command`` trains and records the same run."""

    number: int
    steps: int
    train_length: int
    test_length: int
    seen: tuple[tuple[float, float], tuple[float, float]]
    command: str


class Progress(NamedTuple):
    """A run's training curve so far and a look at its model, None if there is none to look at."""

    number: int
    state: Literal["training", "finished", "stopped", "diverged"]
    steps: Sequence[int]
    losses: Sequence[float]
    view: View | None


class Answered(NamedTuple):
    """What a run's model made of a sequence; None if the model is not there any more."""

    number: int
    reading: Reading | None


class Theorized(NamedTuple):
    """The error by length of the best that linear attention can do, in a run's task and under its map; or why it is
    not known."""

    number: int
    error: Sequence[float]
    reason: str


class Refused(NamedTuple):
    """Why something asked for was not done, a line for each reason. ``ended`` says that the run will not train."""

    number: int
    lines: Sequence[str]
    ended: bool


Reply = Ready | Begun | Progress | Answered | Theorized | Refused
