"""Verdicts on claims: a claim is the statement that all its checks (``checks``) are true.

- It *holds* if all of them hold, and *fails* if all fail.
- It *fails in part* if one check fails at 5 % divided by the number of checks.
- It is *not tested* if no check is, or if something was missing.
- Otherwise it has no verdict but the counts: how many checks hold and fail.

Each word is wrong at most once in 20 over new seeds, over all looks together and however the checks depend on one
another: that a claim holds though a check is false, that it fails though a check is true, and that it fails in part
though all are true (a check with two ends counts both, and fails wrongly at most once in 10). Claims are not corrected
for one another: of those judged, up to 5 % may have a wrong word.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from synthlab.studies.checks import NO_WORD, Check
from synthlab.studies.evidence import Evidence, Fitting, NoEvidence
from synthlab.studies.intervals import LEVEL

Given = TypeVar("Given")


class Fit(NamedTuple):
    """How many of the ``runs`` behind a verdict ``diverged``, how many fit, and the ``word`` over those that fit."""

    runs: int
    diverged: int
    fit: int
    word: str


@dataclass(frozen=True)
class Claim(Generic[Given]):
    """A statement of a paper, and the function that checks it.

    It takes what is ``Given``: the ``Evidence`` of a panel, or a table of a study's runs.
    """

    id: str
    where: str  # section, figure or table of the paper
    statement: str
    quantity: str  # what is measured
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


class ClaimData(NamedTuple):
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
        """One of holds, fails, fails in part and not tested; otherwise ``NO_WORD``, and the counts are the answer."""
        answers = {check.answer for check in self.checks}
        if self.missing or answers <= {"not tested"}:
            return "not tested"
        if answers in ({"holds"}, {"fails"}):
            return answers.pop()
        # A check with two ends may fail on either side.
        level = LEVEL / sum(max(len(check.thresholds), 1) for check in self.checks)
        return "fails in part" if any(check.fails_at(level) for check in self.checks) else NO_WORD

    @property
    def open_checks(self) -> list[Check]:
        """The checks that more seeds may decide, and those that fail without deciding the claim."""
        open_answers = {"undecided", NO_WORD} | (set() if self.word in ("fails", "fails in part") else {"fails"})
        return [check for check in self.checks if check.answer in open_answers]


def count_answers(answers: Sequence[str]) -> str:
    """Return how many of the ``answers`` of checks are which, such as "4 of 6 hold, 1 fails, 1 undecided"."""
    if len(answers) < 2:
        return "".join(answers)
    if set(answers) == {"holds", "not tested"}:
        return f"holds where tested: {answers.count('holds')} of {len(answers)}"
    counts = Counter(answers)
    parts = [f"{counts['holds']} of {len(answers)} hold{'s' * (counts['holds'] == 1)}"]
    words = {"fails": "fails" if counts["fails"] == 1 else "fail", "undecided": "undecided"}
    words |= {NO_WORD: "without a word", "not tested": "not tested"}
    parts += [f"{counts[answer]} {word}" for answer, word in words.items() if counts[answer]]
    return ", ".join(parts)


def judge(claims: Iterable[Claim[Any]], figure: str, grids: Sequence[ClaimData]) -> list[Verdict]:
    """Return the verdicts on those ``claims`` that the grids of ``figure`` test."""
    verdicts = []
    for claim in claims:
        claim_data = [grid for grid in grids if claim.id in grid.claims]
        verdict = _verdict(claim, figure, [grid.given for grid in claim_data])
        if verdict.checks or verdict.missing:
            verdicts.append(verdict._replace(fit=_fit(claim, figure, [grid.fitting for grid in claim_data])))
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
    return Fit(runs, runs - finished, fit, verdict.word)
