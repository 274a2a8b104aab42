"""How a claim is decided: checks on the records of a figure's panels, and a verdict that follows from them.

A check has one value for each seed, and an interval between two of these values that covers the true median over
seeds. It holds if that interval lies in the range wanted, fails if it lies beside it, and is undecided otherwise. A
claim holds if all its checks hold; it does not hold if none holds and at least one fails, or if one fails without which
the others are worth nothing; it holds in part if some hold and some fail; otherwise it is undecided.

A check whose true median lies outside the range wanted holds with a probability of at most 5 %, and one whose median
lies inside fails no more often, if the range is open to one side. The 5 % hold over all looks together: seeds may be
added until the check is decided, since the interval of each number of seeds leaves room for those before it
(``intervals``). That is for each check by itself, and from five seeds on; of fewer the interval reaches from the least
to the greatest and says how often that covers, four seeds 87.5 %, three 75 %. One seed covers nothing: its value
decides alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from synthlab.studies.evidence import Evidence, NoEvidence
from synthlab.studies.intervals import FIRST, Estimate, Interval, median_interval

FACTORS = {"half": 0.5, "twice": 2.0}  # other thresholds at which verdicts are shown
Answer = Literal["holds", "fails", "undecided"]
Given = TypeVar("Given")


class Witnesses(NamedTuple):
    """How many independent witnesses a verdict rests on, and what they are."""

    number: int
    of: str = "seeds"

    def __str__(self) -> str:
        return f"{self.number} {self.of.removesuffix('s') if self.number == 1 else self.of}"


class Check(NamedTuple):
    """Something measured on every seed, and the range [``low``, ``high``) in which its median must lie. More seeds of
    ``series`` would decide it; of all series where that is empty.

    A check of an ``estimate`` has that one's interval in place of the values', and no more seeds would decide it.

    At half or twice its threshold, ``low`` and ``high`` are half or twice as far from ``centre``. So a factor or a
    level is itself halved, whether that makes the check stricter or milder, and a band around a number is half as wide.
    A threshold that is the centre, such as a difference of 0, has no other; nor has any with a centre of None.
    """

    what: str
    values: Float[np.ndarray, " seeds"]
    low: float = -np.inf
    high: float = np.inf
    decisive: bool = False  # the claim does not hold, not even in part, if this check fails
    series: tuple[str, ...] = ()
    centre: float | None = 0.0
    estimate: Estimate | None = None

    @property
    def median(self) -> float:
        """Over seeds; NaN where no run is finished."""
        return float(np.median(self.values)) if len(self.values) else np.nan

    @property
    def least(self) -> float:
        """Over seeds."""
        return float(np.min(self.values)) if len(self.values) else np.nan

    @property
    def greatest(self) -> float:
        """Over seeds."""
        return float(np.max(self.values)) if len(self.values) else np.nan

    @property
    def fulfilling(self) -> int:
        """How many seeds have their own value in the range."""
        return sum(map(self._inside, self.values))

    @property
    def interval(self) -> Interval:
        """What covers the true median; see ``median_interval``. Of an estimate, what covers what is estimated."""
        return self.estimate.interval if self.estimate else median_interval(self.values)

    @property
    def witnesses(self) -> "Witnesses":
        """What the answer rests on."""
        return Witnesses(*self.estimate[1:]) if self.estimate else Witnesses(len(self.values))

    @property
    def answer(self) -> Answer:
        """Whether the interval lies in the range, beside it, or neither. What is NaN fails."""
        low, high, _ = self.interval
        if self._inside(low) and self._inside(high):
            return "holds"
        return "undecided" if high >= self.low and self._under(low) else "fails"

    @property
    def is_decided(self) -> bool:
        """Whether it holds or fails, and needs no confirmation. All five of five seeds lie on the wrong side once in 32
        times if the median is at the threshold. So their answer must be the same at half and at twice the threshold."""
        if self.answer == "undecided" or self.estimate is not None:
            return self.answer != "undecided"
        if len(self.values) == FIRST:
            return self.scales and all(self.at(factor).answer == self.answer for factor in FACTORS.values())
        return len(self.values) > FIRST

    @property
    def asks_for_seeds(self) -> bool:
        """Whether more seeds may decide it."""
        return self.estimate is None and not self.is_decided

    @property
    def holds(self) -> bool:
        """Whether that is the answer."""
        return self.answer == "holds"

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The ends of the range that are numbers."""
        return tuple(float(bound) for bound in (self.low, self.high) if np.isfinite(bound))

    def at(self, factor: float) -> "Check":
        """The check at ``factor`` times its threshold; the check itself where the threshold has no other."""
        centre = self.centre
        if centre is None:
            return self
        low, high = (centre + factor * (bound - centre) for bound in (self.low, self.high))
        return self._replace(low=low, high=high)

    @property
    def scales(self) -> bool:
        """Whether there is a threshold that is half or twice as high."""
        return self.at(2.0).thresholds != self.thresholds

    def _inside(self, value: float) -> bool:
        return bool(self.low <= value and self._under(value))

    def _under(self, value: float) -> bool:
        return bool(value < self.high or self.high == np.inf)


class Fit(NamedTuple):
    """Of ``runs`` behind a verdict, how many ``diverged`` and how many fit; and over those that fit alone, the
    verdict's ``word`` and ``witnesses``."""

    runs: int
    diverged: int
    fit: int
    word: str
    witnesses: Witnesses


@dataclass(frozen=True)
class Claim(Generic[Given]):
    """What the paper says, where, of what runs, and how it is decided from what is ``Given``: the ``Evidence`` of a
    panel, or a table of a study's runs."""

    id: str
    where: str
    statement: str
    quantity: str
    why: str  # the thresholds are what they are
    about: Mapping[str, str]  # the member of each group that the runs must have
    series: Sequence[str]  # that must be among them
    judge: Callable[[Given], list[Check]]


class Claims(dict[str, Claim[Given]]):
    """The claims of a paper, by id."""

    def claim(
        self, id: str, *, where: str, statement: str, quantity: str, why: str, series: Sequence[str] = (), **about: str
    ) -> Callable[[Callable[[Given], list[Check]]], Callable[[Given], list[Check]]]:
        """Register a function as the judge of the claim called ``id``; the others are ``Claim``'s."""

        def register(judge: Callable[[Given], list[Check]]) -> Callable[[Given], list[Check]]:
            self[id] = Claim(id, where, statement, quantity, why, about, series, judge)
            return judge

        return register


class Verdict(NamedTuple):
    """A claim with the checks that decide it, made on the panels of one figure; ``missing`` says what could not be
    checked. ``fit`` is None where no training loss is asked for."""

    claim: Claim[Any]
    figure: str
    checks: list[Check]
    missing: list[str]
    fit: Fit | None = None

    @property
    def word(self) -> str:
        """``holds``, ``holds in part``, ``does not hold``, ``undecided``, or ``not judged`` where something was
        missing."""
        if self.missing or not self.checks:
            return "not judged"
        answers = [check.answer for check in self.checks]
        if set(answers) == {"holds"}:
            return "holds"
        if "fails" not in answers:
            return "undecided"
        decided = any(check.decisive and check.answer == "fails" for check in self.checks)
        return "does not hold" if decided or "holds" not in answers else "holds in part"

    def at(self, factor: float) -> "Verdict":
        """The verdict at ``factor`` times the threshold of each check that has another."""
        return self._replace(checks=[check.at(factor) for check in self.checks])

    @property
    def scales(self) -> bool:
        """Whether any of the thresholds has another."""
        return any(check.scales for check in self.checks)

    @property
    def witnesses(self) -> Witnesses:
        """The fewest that one of the checks rests on; of an undecided claim, one that is undecided."""
        open_ones = [check for check in self.checks if check.answer == "undecided"] if self.word == "undecided" else []
        return min((check.witnesses for check in open_ones or self.checks), default=Witnesses(0))


def judge(claims: Iterable[Claim[Given]], figure: str, grids: Sequence[tuple[Sequence[str], Given]]) -> list[Verdict]:
    """The verdicts on those ``claims`` that the grids of ``figure`` are evidence for: of each grid, the ids of its
    claims and what they are judged on."""
    verdicts = []
    for claim in claims:
        given = [given for names, given in grids if claim.id in names]
        verdict = _verdict(claim, figure, given)
        if verdict.checks or verdict.missing:
            verdicts.append(verdict._replace(fit=_fit(claim, figure, given)))
    return verdicts


def _verdict(claim: Claim[Given], figure: str, given: Sequence[Given]) -> Verdict:
    """All checks of a claim, on all that is given."""
    checks, missing = [], []
    for each in given:
        try:
            if isinstance(each, Evidence):
                each.check_is_about(claim.about, claim.series)
            checks += claim.judge(each)
        except NoEvidence as error:
            missing.append(str(error))
    return Verdict(claim, figure, checks, missing)


def _fit(claim: Claim[Any], figure: str, given: Sequence[Any]) -> Fit | None:
    """How many of the runs fit, and the verdict over those, if all that is given says which do."""
    evidence = [each for each in given if isinstance(each, Evidence) and each.levels is not None]
    if len(evidence) < len(given):
        return None
    fitting = [each.fitting() for each in evidence]
    runs, finished = sum(each.runs for each in evidence), sum(each.finished for each in evidence)
    fit = sum(each.finished for each in fitting)
    verdict = _verdict(claim, figure, fitting)
    return Fit(runs, runs - finished, fit, verdict.word, verdict.witnesses)
