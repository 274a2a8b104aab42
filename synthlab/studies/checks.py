"""Checks: a quantity measured for every seed, and the range that its median must lie in."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from synthlab.studies.intervals import FIRST, ConfidenceInterval, GroupEstimate, evidence, median_interval

FACTORS = {"half": 0.5, "twice": 2.0}  # factors of the other thresholds that claims are judged at
FEW = "few seeds"
Answer = Literal["holds", "fails", "undecided", "few seeds", "not tested"]


class Witnesses(NamedTuple):
    """The number of independent units that a verdict rests on, and what they are."""

    number: int
    of: str = "seeds"

    def __str__(self) -> str:
        return f"{self.number} {self.of.removesuffix('s') if self.number == 1 else self.of}"


class Check(NamedTuple):
    """A quantity measured for every seed, and the range [``low``, ``high``) in which its median must lie.

    The range includes ``low`` and excludes ``high``. Values that are NaN are missing: they count neither way.

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
    def measured(self) -> Float[np.ndarray, " measured"]:
        """The values that are not missing."""
        values = np.asarray(self.values, dtype=float)
        return values[~np.isnan(values)]

    @property
    def missing(self) -> int:
        """The number of seeds whose value is missing: NaN."""
        return len(self.values) - len(self.measured)

    @property
    def median(self) -> float:
        """The median over seeds; NaN without a value."""
        return float(np.median(self.measured)) if len(self.measured) else np.nan

    @property
    def fulfilling(self) -> int:
        """The number of seeds whose own value is in the range."""
        return sum(map(self._inside, self.measured))

    @property
    def interval(self) -> ConfidenceInterval:
        """The confidence interval of the median (see ``median_interval``), or of the estimate, if there is one."""
        return self.estimate.interval if self.estimate else median_interval(self.measured)

    @property
    def witnesses(self) -> Witnesses:
        """The independent units that the answer rests on."""
        return Witnesses(*self.estimate[1:]) if self.estimate else Witnesses(len(self.measured))

    @property
    def answer(self) -> Answer:
        """``holds`` if the interval lies in the range, ``fails`` if it lies outside, else ``undecided``.

        Fewer than five seeds, or other units, are too few for any of these: ``few seeds``. Without a value the check is
        not tested, nor is one whose estimate has no interval.
        """
        if self.why_untested:
            return "not tested"
        if self.witnesses.number < FIRST:
            return FEW
        low, high, _ = self.interval
        if self._inside(low) and self._inside(high):
            return "holds"
        return "undecided" if high >= self.low and self._is_under(low) else "fails"

    @property
    def why_untested(self) -> str:
        """Why the check is not tested; empty if it is."""
        if self.untested or not self.witnesses.number:
            return self.untested or "no value"
        return "no interval" if self.estimate and np.isnan(self.interval[:2]).any() else ""

    @property
    def refutation(self) -> float:
        """The evidence that the median lies outside of the range; with two ends, the mean of both sides'.

        A check that is not tested, or has few seeds, is no evidence.
        """
        if self.answer in ("not tested", FEW):
            return 0.0
        if self.estimate:
            return self.estimate.evidence if self.answer == "fails" else 0.0
        beside = []
        if np.isfinite(self.low):
            beside.append(int((self.measured < self.low).sum()))
        if np.isfinite(self.high):
            beside.append(int((self.measured >= self.high).sum()))
        return sum(evidence(number, len(self.measured)) for number in beside) / max(len(beside), 1)

    @property
    def is_enough_for_auto(self) -> bool:
        """True if ``seeds=auto`` spends no more seeds on the check for its own sake.

        This is a policy and no part of the answer: five seeds that agree decide a check whatever its threshold. But
        ``auto`` adds five if they would answer otherwise at half or at twice the threshold, or if it has no such
        thresholds. For this, the thresholds of a check that ``compares`` are scaled, too.
        """
        if self.untested:
            return True
        if self.answer not in ("holds", "fails"):
            return False
        if self.estimate is None and len(self.measured) == FIRST:
            others = [self._replace(compares=False).at(factor) for factor in FACTORS.values()]
            return all(other.answer == self.answer and other.thresholds != self.thresholds for other in others)
        return True

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The ends of the range that are numbers."""
        return tuple(float(bound) for bound in (self.low, self.high) if np.isfinite(bound))

    def at(self, factor: float) -> "Check":
        """Return the check at ``factor`` times its threshold; the check itself if its threshold cannot be scaled."""
        centre = self.centre
        if centre is None or self.compares:
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
