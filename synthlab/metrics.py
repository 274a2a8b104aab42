"""The measures of a family of runs: the meaning of each metric, its direction and scale, chance and the horizon.

Every family has one ``Measures`` (``Run.measures``). Tables, plots, rankings and ``compare`` need nothing else
of a family. Constructing one loads no torch, so that ``collect`` and ``compare`` start quickly.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Metric(NamedTuple):
    """A number that is measured at each test length.

    Attributes:
        meaning: What it is, in one line, with its unit. It labels axes.
        better: ``lower`` or ``higher``, the direction of better values; None for neither.
        scale: The scale of its axis. On a ``linear`` one, 0 is a value like any other.
        format: How a record prints it, as in a format string; None if a record does not print it.
    """

    meaning: str
    better: Literal["lower", "higher"] | None = None
    scale: Literal["linear", "log"] = "linear"
    format: str | None = None

    @property
    def label(self) -> str:
        """The label of an axis: the meaning and the direction."""
        return f"{self.meaning} ({self.better} is better)" if self.better else self.meaning

    def text(self, value: float) -> str:
        """Return ``value`` as a record prints it."""
        return format(value, self.format or ".3g")


def reach(lengths: Iterable[int], fits: Iterable[bool]) -> int:
    """Return the greatest of ``lengths``, which increase, up to which all fit; 0 if the first does not.

    Example:
        >>> from synthlab.metrics import reach
        >>> reach([2, 4, 6, 8], [True, True, False, True])
        4
    """
    fitting = takewhile(lambda pair: pair[1], zip(lengths, fits, strict=True))
    return max((int(length) for length, _ in fitting), default=0)


@dataclass(frozen=True)
class Measures:
    """The measures of the runs of a family.

    Attributes:
        metrics: The metrics by name, as columns of ``Record.metrics``; some may be missing there.
        primary: The metric that summaries and pictures show unless another is named.
        ranking: The metrics by which sweeps rank runs at their longest test length. Later ones break ties.
        criterion: The condition that is true up to a run's horizon: "relative error stays under 5 %". Settings are
            named by their keys. None for runs without a horizon.
        horizon: Returns the horizon of a finished run, from its config and its metrics: the greatest test length up to
            which the criterion holds, 0 if it never does.
        chance: Returns the primary metric of a model that ignores its input, for each row of the metrics; None if it is
            unknown.
        remark: Returns an additional line, or None, for the printed metrics of a finished record.
    """

    metrics: Mapping[str, Metric]
    primary: str
    ranking: tuple[str, ...]
    criterion: str | None = None
    horizon: "Callable[[Any, pd.DataFrame], int] | None" = None
    chance: "Callable[[Any, pd.DataFrame], Sequence[float] | None] | None" = None
    remark: "Callable[[Any], str | None] | None" = None
