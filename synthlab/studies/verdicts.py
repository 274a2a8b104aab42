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
from typing import Any, Generic, NamedTuple, TypeVar

from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.evidence import Evidence, Fitting, NoEvidence

Given = TypeVar("Given")


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


class Grounds(NamedTuple):
    """What the ``claims`` of a grid, by id, are judged on; ``fitting`` is None where the study does not say which runs
    fit."""

    claims: Sequence[str]
    given: Any
    fitting: Fitting | None = None


class Verdict(NamedTuple):
    """A claim with the checks that decide it, made on the panels of one figure; ``missing`` says what could not be
    checked. ``fit`` is None where no loss is asked for."""

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


def judge(claims: Iterable[Claim[Any]], figure: str, grids: Sequence[Grounds]) -> list[Verdict]:
    """The verdicts on those ``claims`` that the grids of ``figure`` are evidence for."""
    verdicts = []
    for claim in claims:
        grounds = [grid for grid in grids if claim.id in grid.claims]
        verdict = _verdict(claim, figure, [grid.given for grid in grounds])
        if verdict.checks or verdict.missing:
            verdicts.append(verdict._replace(fit=_fit(claim, figure, [grid.fitting for grid in grounds])))
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


def _fit(claim: Claim[Any], figure: str, fitting: Sequence[Fitting | None]) -> Fit | None:
    """How many of the runs fit, and the verdict over those, if all grids say which do."""
    known = [each for each in fitting if each is not None]
    if len(known) < len(fitting):
        return None
    runs, finished, fit = (sum(numbers) for numbers in zip(*(each[:3] for each in known), strict=True))
    verdict = _verdict(claim, figure, [each.given for each in known] if fit else [])
    return Fit(runs, runs - finished, fit, verdict.word, verdict.witnesses)
