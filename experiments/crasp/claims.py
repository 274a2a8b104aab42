"""The paper's claims on which tasks generalize, each tested in miniature.

Arms are position encodings: ``learned``, learned positions with random offsets in training, and ``nope``, none; and
``learned, scale 1``, learned positions initialized as large as the tokens.
"""

import pandas as pd

from experiments.sequences import checks
from experiments.sequences.alignment import alignment_claims
from experiments.sequences.checks import select_published
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
claim = CLAIMS.claim
alignment_claims(CLAIMS)

LEVEL = 0.25
BEYOND = (
    "share of wrong answers in each range of lengths that the paper's numbers were measured at, as multiples of the "
    "training length: to twice and to three times of tasks with an answer; of languages those of the strings shipped"
)
LAST = "share of wrong answers in the last range of lengths that the paper's numbers were measured at"
WHY = (
    "the paper gives no threshold; 0.25 parts its own numbers: in the last range, tasks with a program err by at most "
    "0.24 (Tomita 7 without positions; all others by 0.2 or less, but Shuffle-2, which does not fit, by 0.5), those "
    "without one by at least 0.36 (parity)"
)
WHY_NOT = f"{WHY}; where fewer than half of the runs fit, nothing is tested"
RESULTS = "section 5, Figures 1 and 2 and their data"
WITHOUT = ("interleaved_majority", "tomita4")  # tasks without a program without positional functions


def generalizes(runs: pd.DataFrame, arm: str) -> list[Check]:
    """Check that runs of an ``arm`` generalize to all lengths that the paper tested."""
    return checks.generalizes(select_published(runs), arm, LEVEL)


def fails(runs: pd.DataFrame, arm: str) -> list[Check]:
    """Check that runs of an ``arm`` do not generalize to the longest lengths that the paper tested."""
    return checks.fails(select_published(runs), arm, LEVEL)


def with_positions_alone(runs: pd.DataFrame, other: str = "nope") -> list[Check]:
    """Check that runs generalize with small learned positions, and those of the ``other`` encoding do not."""
    return [*generalizes(runs, "learned"), *fails(runs, other)]


def with_neither(runs: pd.DataFrame) -> list[Check]:
    """Check that runs generalize neither with learned positions nor without."""
    return [*fails(runs, "learned"), *fails(runs, "nope")]


claim(
    "C1",
    where=RESULTS,
    statement="`(aa)*` generalizes with learned positions and random offsets, and does not without positions.",
    quantity=f"{BEYOND}; without positions {LAST}",
    why=WHY,
)(with_positions_alone)

claim(
    "O1",
    where="ours, on section 5",
    statement=(
        "(Ours.) With learned positions and random offsets `(aa)*` generalizes if position embeddings start small, "
        "with a standard deviation of 0.02 as in GPT-2; with 1, the lab's default, it does not."
    ),
    quantity=f"{BEYOND}; with a standard deviation of 1 {LAST}",
    why=WHY,
)(lambda runs: with_positions_alone(runs, "learned, scale 1"))

claim(
    "C2",
    where=RESULTS,
    statement=(
        "The majority of bits (`majority`), three majorities interleaved (`interleaved_majority`), the most frequent "
        "letter (`mode`) and `sort` generalize with learned positions and random offsets."
    ),
    quantity=BEYOND,
    why=WHY,
)(lambda runs: generalizes(runs, "learned"))

claim(
    "C3",
    where=RESULTS,
    statement=(
        "Copying distinct symbols (`copy_distinct`) generalizes with learned positions and random offsets, and does "
        "not without positions."
    ),
    quantity=f"{BEYOND}; without positions {LAST}",
    why=WHY,
)(with_positions_alone)

claim(
    "C4",
    where=RESULTS,
    statement=(
        "Copying repeated symbols (`copy`), `parity` and `addition` generalize neither with learned positions nor "
        "without positions."
    ),
    quantity=LAST,
    why=WHY_NOT,
)(with_neither)

claim(
    "C5",
    where=RESULTS,
    statement=(
        "Of Tomita's languages, `tomita1`, `tomita2`, `tomita4` and `tomita7` generalize with learned positions and "
        "random offsets."
    ),
    quantity=BEYOND,
    why=WHY,
)(lambda runs: generalizes(runs, "learned"))

claim(
    "C6",
    where=RESULTS,
    statement=(
        "Of Tomita's languages, `tomita3`, `tomita5` and `tomita6` do not generalize with learned positions and "
        "random offsets."
    ),
    quantity=LAST,
    why=f"{WHY_NOT}; the paper's own do not fit (exact match of 0.54 to 0.60 within training)",
)(lambda runs: fails(runs, "learned"))


@claim(
    "C7",
    where=RESULTS,
    statement=(
        "Without positions, `majority`, `mode`, `sort`, `tomita1`, `tomita2` and `tomita7` generalize; "
        "`interleaved_majority` and `tomita4` do not."
    ),
    quantity=f"{BEYOND}; of those that do not {LAST}",
    why=WHY_NOT,
)
def without_positions(runs: pd.DataFrame) -> list[Check]:
    """Check runs without positions: that they fail on the tasks ``WITHOUT``, and generalize on others."""
    check = fails if runs["task"].isin(WITHOUT).all() else generalizes
    return check(runs, "nope")


claim(
    "C8",
    where=RESULTS,
    statement=(
        "`(aaaa)*` and `(abab)*` generalize with learned positions and random offsets, and do not without positions."
    ),
    quantity=f"{BEYOND}; without positions {LAST}",
    why=WHY,
)(with_positions_alone)

claim(
    "C9",
    where=RESULTS,
    statement=(
        "`D_2`, `D_3`, `D_4`, `Dyck-1`, `AnBn`, `AnBnCn`, `aa*bb*cc*dd*ee*` and `{a,b}*d{b,c}*` generalize with "
        "learned positions and random offsets, and also without positions."
    ),
    quantity=BEYOND,
    why=WHY,
)(lambda runs: [*generalizes(runs, "learned"), *generalizes(runs, "nope")])

claim(
    "C10",
    where=RESULTS,
    statement="`{0,1,2}*02*` generalizes neither with learned positions and random offsets nor without positions.",
    quantity=LAST,
    why=f"{WHY_NOT}; the paper's own do not fit without positions (exact match of 0.18 within training)",
)(with_neither)
