"""What the words of the committed verdicts follow from: their checks, and the share of the stake bet on all seeds."""

from functools import cache
from statistics import mean

import pandas as pd
import pytest

from experiments import rejudging
from experiments.committed_verdicts import CLAIMS, RUNS, read_tables
from experiments.papers import papers
from experiments.reference import REFERENCE, ROOT
from synthlab.studies import intervals
from synthlab.studies.checks import FEW
from synthlab.studies.verdicts import Verdict

pytestmark = pytest.mark.slow
HANGING = {"A1r", "Co", "W"}
UNJUDGED = [name for name in papers() if not (REFERENCE / name / RUNS).exists()]  # their claims alone are committed


@cache
def rejudged() -> list[Verdict]:
    """The verdicts on all claims that the committed tables decide."""
    found: list[Verdict] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rejudging, "add_statements", lambda verdicts: found.extend(verdicts) or pd.DataFrame())
        for name, load in papers().items():
            rejudging.rejudge(load(), REFERENCE / name)
    return found


def evidence(row: pd.Series) -> float:
    """The evidence against a committed check of whose seeds all that do not agree lie on one side."""
    if row["answer"] in ("not tested", FEW):
        return 0.0
    number, against = int(row["seeds"]), int(row["seeds"] - row["agree"])
    beside = [against, 0] if " to " in row["needed"] else [against]
    return mean(intervals.evidence(each, number) for each in beside)


def word(checks: pd.DataFrame) -> str:
    """The word that follows from the committed checks of a claim."""
    answers = set(checks["answer"])
    if answers in ({"holds"}, {"not tested"}):
        return answers.pop()
    bets = [evidence(row) for _, row in checks.iterrows()]
    if "fails" in answers and (len(bets) == 1 or mean(bets) >= intervals.CONVINCING):
        return "mixed" if "holds" in answers else "does not hold"
    return FEW if FEW in answers else "undecided"


def words() -> dict[tuple[str, str], str]:
    """The word of each claim, by its name and its figure or study."""
    found = {(verdict.claim.name, verdict.figure): verdict.word for verdict in rejudged()}
    for name in UNJUDGED:
        for study, table in read_tables(REFERENCE / name / CLAIMS).items():
            found |= {(str(claim), study): word(checks) for claim, checks in table.groupby("claim")}
    return found


def test_the_words_of_tables_without_runs_follow_from_their_checks():
    found = words()
    for name in UNJUDGED:
        for study, table in read_tables(REFERENCE / name / CLAIMS).items():
            for claim, checks in table.groupby("claim"):
                assert {found[str(claim), study]} == set(checks["verdict"]), claim


@pytest.mark.parametrize(
    ("stake", "others"),
    [(0.25, {*HANGING, "A1", "C", "R2"}), (0.5, HANGING), (0.9, HANGING), (15 / 16, set()), (0.97, set())],
)
def test_the_page_names_the_verdicts_that_hang_on_the_share_of_the_stake(stake, others, monkeypatch):
    before = words()
    monkeypatch.setattr(intervals, "ON_ALL", stake)
    changed = {claim: after for claim, after in words().items() if after != before[claim]}
    assert {claim.partition(".")[2] for claim, _ in changed} == others
    assert set(changed.values()) <= {"undecided"}
    page = " ".join((ROOT / "docs" / "deciding.md").read_text().split())
    assert "15/16 of each stake" in page
    assert "Three hang on it: A1r, Co and W of the [language models]" in page
    assert "With a share of 1/2 to 0.9 they are undecided" in page
    assert "A1, C and R2 are undecided too" in page
