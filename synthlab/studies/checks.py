"""Checks: an effect measured for every seed, and the range that its median must lie in."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from synthlab.studies.intervals import FIRST, LEVEL, ConfidenceInterval, GroupEstimate, first_look, median_interval

NO_WORD = ""  # the answer of a check with fewer than five seeds: its effect is reported, without an answer
Answer = Literal["holds", "fails", "undecided", "not tested", ""]


class Check(NamedTuple):
    """An effect measured for every seed, and the range [``low``, ``high``) in which its median must lie.

    Attributes:
        what: The effect.
        values: Its value for each seed; NaN for a missing one, which counts neither way.
        low: The least median that holds.
        high: The median from which on it fails.
        series: Series of which more seeds can decide the check; all if empty.
        estimate: Its interval is used in place of the seeds'; then more seeds do not help.
        untested: Why the runs cannot answer, for example that none of them fits; empty if they can.
    """

    what: str
    values: Float[np.ndarray, " seeds"]
    low: float = -np.inf
    high: float = np.inf
    series: tuple[str, ...] = ()
    estimate: GroupEstimate | None = None
    untested: str = ""

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
    def number(self) -> int:
        """The number of seeds, or of the estimate's units, that the answer rests on."""
        return self.estimate.number if self.estimate else len(self.measured)

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
    def answer(self) -> Answer:
        """``holds`` if the interval lies in the range, ``fails`` if it lies outside, else ``undecided``.

        Empty with fewer than five seeds, or other units; ``not tested`` without a value or an interval.
        """
        if self.why_untested:
            return "not tested"
        return NO_WORD if self.number < FIRST else self._compare(self.interval)

    def fails_at(self, level: float) -> bool:
        """Return True if the check fails at an error rate of ``level`` on each side, instead of 5 %."""
        if self.answer != "fails" or level >= LEVEL:
            return self.answer == "fails"
        if self.estimate:
            return self.interval.coverage >= 1 - 2 * level
        enough = self.number >= first_look(level)
        return enough and self._compare(median_interval(self.measured, level)) == "fails"

    @property
    def why_untested(self) -> str:
        """Why the check is not tested; empty if it is."""
        if self.untested or not self.number:
            return self.untested or "no value"
        return "no interval" if self.estimate and np.isnan(self.interval[:2]).any() else ""

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The ends of the range that are numbers."""
        return tuple(float(bound) for bound in (self.low, self.high) if np.isfinite(bound))

    def _compare(self, interval: ConfidenceInterval) -> Answer:
        low, high, _ = interval
        if self._inside(low) and self._inside(high):
            return "holds"
        return "undecided" if high >= self.low and self._is_under(low) else "fails"

    def _inside(self, value: float) -> bool:
        return bool(self.low <= value and self._is_under(value))

    def _is_under(self, value: float) -> bool:
        return bool(value < self.high or self.high == np.inf)
