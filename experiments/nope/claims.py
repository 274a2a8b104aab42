"""The paper's claims on which encodings generalize, each tested in miniature.

Arms are position encodings: ``nope``, ``t5``, ``alibi``; ``partial_rope``, which is the paper's RoPE; ``sinusoidal``,
which is its absolute encoding; and, from us, ``rope``, on whole heads, and ``t5, 32 buckets``.
"""

import pandas as pd

from experiments.nope.miniature import MINIATURE
from experiments.sequences import checks
from experiments.sequences.ranks import check_above
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame](MINIATURE)
claim = CLAIMS.claim

LEVEL = 0.5
NEAR = 1.25  # multiple of the training length at which the first range beyond it ends
EXPORTS = "the authors' exports, results/sanity_check.jsonl"
RANKING = "the authors' notebook plot_aggregate_final, cell 24"
WHY = (
    "the paper gives no threshold; half right parts its own numbers: each seed of theirs lies on the side of their mean"
)
RANKS = "mean reciprocal rank over tasks, seed by seed: that of the lower encoding less that of the higher"
ANY = "the paper orders the encodings, so any difference counts; theirs are {}"
GOOD, POOR = ("nope", "t5", "alibi"), ("partial_rope", "sinusoidal")


def generalizes(runs: pd.DataFrame, arm: str) -> list[Check]:
    """Check that runs of an ``arm`` get more than half right in every range of lengths beyond training."""
    return checks.generalizes(runs, arm, LEVEL)


def fails(runs: pd.DataFrame, arm: str) -> list[Check]:
    """Check that runs of an ``arm`` do not get more than half right in the last range."""
    return checks.fails(runs, arm, LEVEL)


def select_near(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of training lengths and of the first range beyond."""
    return runs[runs["last"] <= NEAR * runs["train_length"]]


def ranks_first(ranks: pd.DataFrame) -> list[Check]:
    """Check that NoPE ranks above each of the others."""
    return [check_above(ranks, "nope", other) for other in ("t5", "alibi", *POOR)]


claim(
    "R1",
    where=RANKING,
    statement="Over all tasks NoPE ranks first: its mean reciprocal rank is above that of every other encoding.",
    quantity=RANKS,
    why=ANY.format("0.14 to 0.47"),
)(ranks_first)


claim(
    "R2",
    where=RANKING,
    statement="T5's bias and ALiBi rank above RoPE.",
    quantity=RANKS,
    why=ANY.format("0.22 and 0.17"),
)(lambda ranks: [check_above(ranks, arm, "partial_rope") for arm in ("t5", "alibi")])

claim(
    "R3",
    where=RANKING,
    statement="RoPE ranks above the absolute (sinusoidal) encoding.",
    quantity=RANKS,
    why=ANY.format("0.11"),
)(lambda ranks: [check_above(ranks, "partial_rope", "sinusoidal")])

claim(
    "N1",
    where=EXPORTS,
    statement="On `repeat` and `replace` NoPE generalizes to twice the training length.",
    quantity="share of wrong answers in each range of lengths beyond training",
    why=WHY,
)(lambda runs: generalizes(runs, "nope"))

claim(
    "N2",
    where=EXPORTS,
    statement="On `copy` and `reverse` NoPE, T5's bias and ALiBi generalize to 1.25 times the training length.",
    quantity="share of wrong answers in the first range of lengths beyond training",
    why=WHY,
)(lambda runs: [check for arm in GOOD for check in generalizes(select_near(runs), arm)])

claim(
    "N2_absolute",
    where=EXPORTS,
    statement=("On `copy` and `reverse` the absolute encoding does not generalize to 1.25 times the training length."),
    quantity="share of wrong answers in the first range of lengths beyond training",
    why=f"{WHY}, but one of three seeds of RoPE on reverse, which is left out here",
)(lambda runs: fails(select_near(runs), "sinusoidal"))

claim(
    "N3",
    where=EXPORTS,
    statement=(
        "Except for NoPE and T5's bias on `repeat` and `replace`, no encoding generalizes to twice the training length "
        "on these and on `copy` and `reverse`."
    ),
    quantity="share of wrong answers in the last range of lengths",
    why=f"{WHY}; on `copy` and `reverse` all encodings get at most 2 % right there",
)(
    lambda runs: [
        check
        for arm in (("alibi", *POOR) if runs["task"].isin(["repeat", "replace"]).all() else (*GOOD, *POOR))
        for check in fails(runs, arm)
    ]
)

claim(
    "O3",
    where="ours, on the authors' choice of a checkpoint",
    statement=(
        "(Ours.) On copying tasks NoPE ranks first, too, where each run stops as soon as it fits its training lengths."
    ),
    quantity=f"{RANKS}; `copy`, `reverse`, `repeat` and `replace`",
    why=ANY.format("of all tasks, 0.14 to 0.47"),
)(ranks_first)
