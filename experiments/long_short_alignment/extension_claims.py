"""Claims on methods that the paper names for extending the context by training: CREAM, CLEX, LongQLoRA.

See sections 1 and 5.
"""

import pandas as pd

from experiments.long_short_alignment.checks import checks, recall_gains
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

EXTENSIONS = Claims[pd.DataFrame]()
claim = EXTENSIONS.claim
BEYOND = "change of the loss after 3 to 4 training lengths, nats"
FAR_BEYOND = "change of the loss after 7 to 8 training lengths, nats"
HALF_A_PERCENT = "0.01 nats is half a percent of the loss"

claim(
    "X1",
    where="Chen et al., 2023 (CLEX), section 3",
    statement=(
        "(From the CLEX paper.) The frequencies that CLEX learns give a lower loss after 3 to 4 training lengths than "
        "CLEX without learning, which is NTK by the length of the text."
    ),
    quantity="loss after 3 to 4 training lengths less that of CLEX without its network, the same seed",
    why="any gain counts",
)(lambda runs: checks(runs, ("CLEX",), "loss_4x", BEYOND, high=0.0))


@claim(
    "X2",
    where="ours, on Wu et al., 2024 (CREAM), and its code",
    statement=(
        "(Ours.) CREAM's code departs from its paper in how it draws positions and takes text; none of these "
        "departures changes the loss by more than 0.01 nats."
    ),
    quantity="loss after 3 to 4 training lengths less that of positions drawn as in the paper, the same seed",
    why=HALF_A_PERCENT,
)
def as_described(runs: pd.DataFrame) -> list[Check]:
    """Check that the variants of the authors' code change the loss beyond training by at most 0.01 nats."""
    arms = ("clamped", "clamped, shared by 300", "clamped, the authors' text")
    return checks(runs, arms, "loss_4x", BEYOND, low=-0.01, high=0.01)


claim(
    "X3",
    where="ours, on Chen et al., 2023 (LongLoRA), and its code",
    statement=(
        "(Ours.) LongLoRA fine-tunes with shifted groups of tokens that wrap around, so that the first tokens see the "
        "last; without the wrap the loss is the same to 0.01 nats."
    ),
    quantity=(
        "loss after 3 to 4 training lengths, with full attention, less that of groups that do not, the same seed"
    ),
    why=HALF_A_PERCENT,
)(lambda runs: checks(runs, ("rolled",), "loss_4x", BEYOND, low=-0.01, high=0.01))

claim(
    "X4",
    where="Wu et al., 2024 (CREAM), section 4",
    statement=(
        "(From the CREAM paper.) On tokens after 7 to 8 training lengths of text, the loss is lower with CREAM's "
        "positions than with those of RandPos and PoSE."
    ),
    quantity="loss after 7 to 8 training lengths less that of CREAM, the same seed",
    why="any lead counts; a lead over models that have not learned their training windows is none",
)(lambda runs: checks(runs, ("PI, RandPos", "PI, PoSE"), "loss_8x", FAR_BEYOND, low=0.0, needs_fit=True))

claim(
    "X5",
    where="Jin et al., 2024 (Self-Extend), section 4; An et al., 2024 (dual chunk attention), section 4; ReRoPE",
    statement=(
        "(From their papers.) Maps of relative positions, such as Self-Extend, lower the loss on longer text without "
        "any training."
    ),
    quantity="loss after 7 to 8 training lengths less that of RoPE as it is, the same seed",
    why="any gain counts",
)(lambda runs: checks(runs, ("Self-Extend", "ReRoPE", "leaky ReRoPE", "dual chunk"), "loss_8x", FAR_BEYOND, high=0.0))

claim(
    "X6",
    where="Tables 2 and 3",
    statement="The regularizer (weight 0.1) lowers the loss on longer text on top of each method of context extension.",
    quantity="loss after 3 to 4 training lengths less that of alpha 0, the same seed",
    why="any gain counts",
)(lambda runs: checks(runs, ("alpha 0.1",), "loss_4x", BEYOND, high=0.0))


claim(
    "X7",
    where="Wu et al., 2024 (CREAM), section 4",
    statement="(From the CREAM paper.) CREAM's positions help to recall facts in the middle of longer texts.",
    quantity=(
        "share of right answers about facts at depths 0.25, 0.5 and 0.75, in texts of four training lengths, less that "
        "of contiguous positions, the same seed"
    ),
    why="any gain counts",
)(lambda runs: recall_gains(runs, "PI, CREAM", [0.25, 0.5, 0.75], "change at depths 0.25 to 0.75"))

claim(
    "X8",
    where="Rebuttal, answers to reviewer Ueg1",
    statement=(
        "With EABF as the method of context extension, the regularizer (weight 0.1) lowers the loss on longer text "
        "further than CREAM does."
    ),
    quantity="loss after 3 to 4 training lengths less that of CREAM, the same seed",
    why="any lead counts",
)(lambda runs: checks(runs, ("alpha 0.1",), "loss_4x", BEYOND, high=0.0))

claim(
    "X9",
    where="Rebuttal, answers to reviewer Ueg1",
    statement=(
        "With EABF as the method of context extension, the regularizer (weight 0.1) lowers the loss on longer text "
        "when added to CREAM."
    ),
    quantity="loss after 3 to 4 training lengths less that of CREAM alone, the same seed",
    why="any gain counts",
)(lambda runs: checks(runs, ("CREAM, alpha 0.1",), "loss_4x", BEYOND, high=0.0))
