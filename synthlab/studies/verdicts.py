"""Decisions on claims: checks on the records of a figure's panels, and a verdict that follows from them.

A claim is the statement that all its checks (``checks``) are true:

- it *holds* if all of them hold;
- it is refuted if more checks fail, or fail more clearly, than chance explains once in 20 times. Then it is *mixed* if
  any check holds, and *does not hold* if none does;
- it is *not tested* if no check is, or if something was missing;
- it has *few seeds*, and no verdict, if a check has fewer than five;
- it is *undecided* otherwise.

Two errors have a rate of at most 5 % over new seeds, over all looks together and however the checks depend on one
another: that a claim holds though one of its checks is false, and that it is refuted though all of them are true (up to
10 % for a single check with two ends). Several checks fail by chance more often than one does, so their mean evidence
(``intervals.evidence``) counts, which reaches 20 at most once in 20 if no check is false. The checks that hold in a
mixed claim have no joint error rate: if none of 12 checks is true, 8 clearly false and 4 at the threshold, one of the 4
holds in 12 % of claims. Neither have several claims: of those judged, up to 5 % may be decided wrongly.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from synthlab.studies.checks import FEW, Check, Witnesses
from synthlab.studies.evidence import Evidence, Fitting, NoEvidence
from synthlab.studies.intervals import CONVINCING

Given = TypeVar("Given")

WORDS = ("holds", "does not hold", "mixed", "undecided", FEW, "not tested")
# The answers of checks that leave a claim without a decision, by its word.
DECIDING = {"undecided": ("undecided", "fails"), FEW: (FEW,)}


class Fit(NamedTuple):
    """How many of the ``runs`` behind a verdict ``diverged``, and how many fit.

    ``word`` and ``witnesses`` are the verdict over the runs that fit.
    """

    runs: int
    diverged: int
    fit: int
    word: str
    witnesses: Witnesses


@dataclass(frozen=True)
class Claim(Generic[Given]):
    """What the paper says, where, about which runs, and how it is decided from what is ``Given``.

    That is the ``Evidence`` of a panel, or a table of a study's runs.
    """

    id: str
    where: str
    statement: str
    quantity: str
    why: str  # why the thresholds have these values
    about: Mapping[str, str]  # the member of each group that the runs must have
    series: Sequence[str]  # series that must be among them
    check: Callable[[Given], list[Check]]
    paper: str = ""  # the paper's name, set by ``Paper``

    @property
    def name(self) -> str:
        """``paper.id``, which is unique among all papers' claims."""
        return f"{self.paper}.{self.id}" if self.paper else self.id


class Claims(dict[str, Claim[Given]]):
    """The claims of a paper, by id."""

    def claim(
        self, id: str, *, where: str, statement: str, quantity: str, why: str, series: Sequence[str] = (), **about: str
    ) -> Callable[[Callable[[Given], list[Check]]], Callable[[Given], list[Check]]]:
        """Register the function that checks the claim called ``id``; other arguments are those of ``Claim``."""

        def register(check: Callable[[Given], list[Check]]) -> Callable[[Given], list[Check]]:
            self[id] = Claim(id, where, statement, quantity, why, about, series, check)
            return check

        return register


class Grounds(NamedTuple):
    """The data that the ``claims`` of a grid, by id, are judged on.

    ``fitting`` is None if the study does not define which runs fit.
    """

    claims: Sequence[str]
    given: Any
    fitting: Fitting | None = None


class Verdict(NamedTuple):
    """A claim with the checks that decide it, made on the panels of one figure.

    ``missing`` says what could not be checked. ``fit`` is None if the study has no level for the loss.
    """

    claim: Claim[Any]
    figure: str
    checks: list[Check]
    missing: list[str]
    fit: Fit | None = None

    @property
    def word(self) -> str:
        """One of ``WORDS``."""
        if self.missing or not self.checks:
            return "not tested"
        answers = {check.answer for check in self.checks}
        if answers in ({"holds"}, {"not tested"}):
            return answers.pop()
        if not self._is_refuted():
            return FEW if FEW in answers else "undecided"
        return "mixed" if "holds" in answers else "does not hold"

    def _is_refuted(self) -> bool:
        """Return True if the checks that fail are too many, or fail too clearly, for chance.

        A single check has its own error rate.
        """
        if all(check.answer != "fails" for check in self.checks):
            return False
        evidence = [check.refutation for check in self.checks]
        return len(evidence) == 1 or sum(evidence) / len(evidence) >= CONVINCING

    @property
    def counts(self) -> str:
        """How many checks hold, fail and are not tested, in words; empty without checks."""
        return counts_in_words([check.answer for check in self.checks])

    @property
    def open_checks(self) -> list[Check]:
        """The checks on which ``seeds=auto`` spends more seeds (``Check.is_enough_for_auto``).

        Those of an undecided claim that fail, but not clearly enough for a claim of that many checks, are among them.
        """
        failing = {"fails"} if self.word == "undecided" else set()
        return [check for check in self.checks if not check.is_enough_for_auto or check.answer in failing]

    def at(self, factor: float) -> "Verdict":
        """Return the verdict at ``factor`` times the threshold of each check that can be scaled."""
        return self._replace(checks=[check.at(factor) for check in self.checks])

    @property
    def scales(self) -> bool:
        """True if any of the thresholds can be scaled."""
        return any(check.scales for check in self.checks)

    @property
    def witnesses(self) -> Witnesses:
        """The fewest units that one of the checks rests on; without a decision, one of those that leave it so.

        Zero if these are not tested.
        """
        deciding = DECIDING.get(self.word)
        counted = [check for check in self.checks if deciding is None or check.answer in deciding]
        return min((check.witnesses for check in counted), default=Witnesses(0))


def counts_in_words(answers: Sequence[str]) -> str:
    """Return how many of the ``answers`` of checks are which, such as "4 of 6 checks hold, 1 fails, 1 undecided"."""
    if not answers:
        return ""
    counts = Counter(answers)
    told = [f"{counts['holds']} of {len(answers)} checks hold{'s' * (counts['holds'] == 1)}"]
    words = {"fails": "fails" if counts["fails"] == 1 else "fail", "undecided": "undecided", FEW: "without a verdict"}
    words["not tested"] = "not tested"
    return ", ".join([*told, *(f"{counts[answer]} {word}" for answer, word in words.items() if counts[answer])])


def judge(claims: Iterable[Claim[Any]], figure: str, grids: Sequence[Grounds]) -> list[Verdict]:
    """Return the verdicts on those ``claims`` that the grids of ``figure`` test."""
    verdicts = []
    for claim in claims:
        grounds = [grid for grid in grids if claim.id in grid.claims]
        verdict = _verdict(claim, figure, [grid.given for grid in grounds])
        if verdict.checks or verdict.missing:
            verdicts.append(verdict._replace(fit=_fit(claim, figure, [grid.fitting for grid in grounds])))
    return verdicts


def _verdict(claim: Claim[Given], figure: str, given: Sequence[Given]) -> Verdict:
    """Return all checks of a claim, on all data."""
    checks, missing = [], []
    for each in given:
        try:
            if isinstance(each, Evidence):
                each.check_is_about(claim.about, claim.series)
            checks += claim.check(each)
        except NoEvidence as error:
            missing.append(str(error))
    return Verdict(claim, figure, checks, missing)


def _fit(claim: Claim[Any], figure: str, fitting: Sequence[Fitting | None]) -> Fit | None:
    """Return how many of the runs fit, and the verdict over those, if all grids define which do."""
    known = [each for each in fitting if each is not None]
    if len(known) < len(fitting):
        return None
    runs, finished, fit = (sum(numbers) for numbers in zip(*(each[:3] for each in known), strict=True))
    verdict = _verdict(claim, figure, [each.given for each in known] if fit else [])
    return Fit(runs, runs - finished, fit, verdict.word, verdict.witnesses)
