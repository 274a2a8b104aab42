"""Checks: a quantity measured for every seed, and the range that its median must lie in."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from synthlab.studies.intervals import FIRST, ConfidenceInterval, GroupEstimate, evidence, median_interval

FACTORS = {"half": 0.5, "twice": 2.0}  # factors of thresholds in sensitivity analyses
Answer = Literal["holds", "fails", "undecided", "not tested"]


class Witnesses(NamedTuple):
    """The number of independent units that a verdict rests on, and what they are."""

    number: int
    of: str = "seeds"

    def __str__(self) -> str:
        return f"{self.number} {self.of.removesuffix('s') if self.number == 1 else self.of}"


class Check(NamedTuple):
    """A quantity measured for every seed, and the range [``low``, ``high``) in which its median must lie.

    More seeds of ``series`` (of all series if it is empty) can decide it. If ``estimate`` is given, its interval is
    used instead of the seeds', and more seeds do not help.

    At half or twice its threshold, ``low`` and ``high`` are half or twice as far from ``centre``. So a factor or a
    level is itself halved, whether that makes the check stricter or milder, and a band around a number is half as wide.
    A threshold that is the centre, such as a difference of 0, cannot be scaled. Nor can one with a centre of None, or
    one that ``compares`` two series: half of "less than the other" is "less than half the other", which is another
    claim.
    """

    what: str
    values: Float[np.ndarray, " seeds"]
    low: float = -np.inf
    high: float = np.inf
    series: tuple[str, ...] = ()
    centre: float | None = 0.0
    estimate: GroupEstimate | None = None
    compares: bool = False
    untested: str = ""  # why the runs cannot answer, for example that none of them fits; empty if they can

    @property
    def median(self) -> float:
        """The median over seeds; NaN if no run is finished."""
        return float(np.median(self.values)) if len(self.values) else np.nan

    @property
    def least(self) -> float:
        """The least value over seeds."""
        return float(np.min(self.values)) if len(self.values) else np.nan

    @property
    def greatest(self) -> float:
        """The greatest value over seeds."""
        return float(np.max(self.values)) if len(self.values) else np.nan

    @property
    def fulfilling(self) -> int:
        """The number of seeds whose own value is in the range."""
        return sum(map(self._inside, self.values))

    @property
    def interval(self) -> ConfidenceInterval:
        """The confidence interval of the median (see ``median_interval``), or of the estimate, if there is one."""
        return self.estimate.interval if self.estimate else median_interval(self.values)

    @property
    def witnesses(self) -> "Witnesses":
        """The independent units that the answer rests on."""
        return Witnesses(*self.estimate[1:]) if self.estimate else Witnesses(len(self.values))

    @property
    def answer(self) -> Answer:
        """``holds`` if the interval lies in the range, ``fails`` if outside of it or NaN, else ``undecided``."""
        if self.untested:
            return "not tested"
        low, high, _ = self.interval
        if self._inside(low) and self._inside(high):
            return "holds"
        return "undecided" if high >= self.low and self._is_under(low) else "fails"

    @property
    def refutation(self) -> float:
        """The evidence that the median lies outside of the range; with two ends, the mean of both sides'."""
        if self.untested:
            return 0.0
        if self.estimate:
            return self.estimate.evidence if self.answer == "fails" else 0.0
        beside = []
        if np.isfinite(self.low):
            beside.append(sum(not value >= self.low for value in self.values))
        if np.isfinite(self.high):
            beside.append(sum(not value < self.high for value in self.values))
        return sum(evidence(number, len(self.values)) for number in beside) / max(len(beside), 1)

    @property
    def is_decided(self) -> bool:
        """True if the check holds or fails, and needs no confirmation.

        With the median at the threshold, all five seeds fall on one given side with probability 1/32. So five seeds
        must give the same answer at half and at twice the threshold, whether or not these are another reading of the
        claim.
        """
        if self.answer == "undecided" or self.estimate is not None or self.untested:
            return self.answer != "undecided"
        if len(self.values) == FIRST:
            others = [self._scale(factor) for factor in FACTORS.values()]
            return all(other.answer == self.answer and other.thresholds != self.thresholds for other in others)
        return len(self.values) > FIRST

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The ends of the range that are numbers."""
        return tuple(float(bound) for bound in (self.low, self.high) if np.isfinite(bound))

    def at(self, factor: float) -> "Check":
        """Return the check at ``factor`` times its threshold; the check itself if its threshold cannot be scaled."""
        return self if self.compares else self._scale(factor)

    def _scale(self, factor: float) -> "Check":
        """Return the check with its range scaled by ``factor`` around its centre; unchanged if ``centre`` is None."""
        centre = self.centre
        if centre is None:
            return self
        low, high = (centre + factor * (bound - centre) for bound in (self.low, self.high))
        return self._replace(low=low, high=high)

    @property
    def scales(self) -> bool:
        """True if the threshold can be halved and doubled."""
        return self.at(2.0).thresholds != self.thresholds

    def _inside(self, value: float) -> bool:
        return bool(self.low <= value and self._is_under(value))

    def _is_under(self, value: float) -> bool:
        return bool(value < self.high or self.high == np.inf)
