"""The paper's claims on which encodings generalize, each tested in miniature.

Arms are position encodings: ``nope``, ``t5``, ``alibi``; ``partial_rope``, which is the paper's RoPE; ``sinusoidal``,
which is its absolute encoding; and, from us, ``rope``, on whole heads, and ``t5, 32 buckets``.
"""

import pandas as pd

from experiments.nope.miniature import MINIATURE
from experiments.sequences import checks
from experiments.sequences.alignment import alignment_claims
from experiments.sequences.ranks import check_above
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame](MINIATURE)
claim = CLAIMS.claim
alignment_claims(CLAIMS)

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


def first(ranks: pd.DataFrame) -> list[Check]:
    """Check that NoPE ranks above each of the others."""
    return [check_above(ranks, "nope", other) for other in ("t5", "alibi", *POOR)]


claim(
    "R1",
    where=RANKING,
    statement="Over all tasks NoPE ranks first: its mean reciprocal rank is above that of every other encoding.",
    quantity=RANKS,
    why=ANY.format("0.14 to 0.47"),
)(first)


@claim(
    "R2",
    where=RANKING,
    statement="T5's bias and ALiBi rank above RoPE, and RoPE above the absolute (sinusoidal) encoding.",
    quantity=RANKS,
    why=ANY.format("0.22, 0.17 and 0.11"),
)
def relative_above_absolute(ranks: pd.DataFrame) -> list[Check]:
    """Check that T5's bias and ALiBi rank above partial RoPE, and that above the absolute encoding."""
    pairs = (("t5", "partial_rope"), ("alibi", "partial_rope"), ("partial_rope", "sinusoidal"))
    return [check_above(ranks, *pair) for pair in pairs]


@claim(
    "N1",
    where=EXPORTS,
    statement=(
        "On `repeat` and `replace` NoPE generalizes to twice the training length; ALiBi, RoPE and the absolute "
        "encoding do not."
    ),
    quantity="share of wrong answers in each range of lengths beyond training; of those that do not, in the last",
    why=WHY,
)
def repeated_symbols(runs: pd.DataFrame) -> list[Check]:
    """Check that NoPE generalizes, and that ALiBi and the poor encodings fail."""
    return [
        *generalizes(runs, "nope"),
        *(check for arm in ("alibi", *POOR) for check in fails(runs, arm)),
    ]


@claim(
    "N2",
    where=EXPORTS,
    statement=(
        "On `copy` and `reverse` NoPE, T5's bias and ALiBi generalize to 1.25 times the training length; the "
        "absolute encoding does not."
    ),
    quantity="share of wrong answers in the first range of lengths beyond training",
    why=f"{WHY}, but one of three seeds of RoPE on reverse, which is left out here",
)
def just_beyond(runs: pd.DataFrame) -> list[Check]:
    """Check that the good encodings generalize just beyond training, and that the absolute encoding fails."""
    rows = select_near(runs)
    return [
        *(check for arm in GOOD for check in generalizes(rows, arm)),
        *fails(rows, "sinusoidal"),
    ]


claim(
    "N3",
    where=EXPORTS,
    statement="On `copy` and `reverse` none of the five encodings generalizes to twice the training length.",
    quantity="share of wrong answers in the last range of lengths",
    why=f"{WHY}; there, all encodings get at most 2 % right",
)(lambda runs: [check for arm in (*GOOD, *POOR) for check in fails(runs, arm)])

claim(
    "O1",
    where="ours, on the authors' code, custom_t5_decoder_only.py, line 198",
    statement=(
        "(Ours.) On `copy`, `reverse` and `repeat` RoPE does not generalize to twice the training length, whether it "
        "rotates whole heads or a quarter of each."
    ),
    quantity="share of wrong answers in the last range of lengths",
    why=WHY,
)(lambda runs: [*fails(runs, "rope"), *fails(runs, "partial_rope")])


@claim(
    "O2",
    where="ours, on the authors' bias, which has 32 buckets to a distance of 128",
    statement=(
        "(Ours.) T5's bias generalizes just beyond training if all its buckets occur in training, and does not if "
        "some occur in longer sequences only."
    ),
    quantity="share of wrong answers in the first range of lengths beyond training",
    why=WHY,
)
def buckets(runs: pd.DataFrame) -> list[Check]:
    """Check that T5's bias generalizes just beyond training, and fails with 32 buckets."""
    rows = select_near(runs)
    return [*generalizes(rows, "t5"), *fails(rows, "t5, 32 buckets")]


claim(
    "O3",
    where="ours, on the authors' choice of a checkpoint",
    statement=(
        "(Ours.) On copying tasks NoPE ranks first, too, where each run stops as soon as it fits its training lengths."
    ),
    quantity=f"{RANKS}; `copy`, `reverse`, `repeat` and `replace`",
    why=ANY.format("of all tasks, 0.14 to 0.47"),
)(first)
