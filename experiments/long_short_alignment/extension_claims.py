"""Claims on what extends the context by training, which the paper names: CREAM, CLEX, LongQLoRA (sections 1, 5)."""

import pandas as pd

from experiments.long_short_alignment.checks import checks
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

EXTENSIONS = Claims[pd.DataFrame]()
claim = EXTENSIONS.claim
BEYOND = "change of the loss after 3 to 4 training lengths, nats"
HALF_A_PERCENT = "0.01 nats is half a percent of the loss"


@claim(
    "X1",
    where="Chen et al., 2023 (CLEX), section 3",
    statement="(After CLEX.) What CLEX learns lowers the loss on longer text below that of NTK by the same factor.",
    quantity="loss after 3 to 4 training lengths less that of CLEX without its network, the same seed",
    why="any gain counts",
)
def learned_frequencies(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, ("CLEX",), "loss_4x", BEYOND, high=0.0)


@claim(
    "X2",
    where="ours, on Wu et al., 2024 (CREAM), and its code",
    statement=(
        "(Ours.) CREAM's code departs from its paper, by clamped and shared draws and repeated text; the loss does not."
    ),
    quantity="loss after 3 to 4 training lengths less that of positions drawn as in the paper, the same seed",
    why=HALF_A_PERCENT,
)
def as_described(runs: pd.DataFrame) -> list[Check]:
    arms = ("clamped", "clamped, shared by 300", "clamped, the authors' text")
    return checks(runs, arms, "loss_4x", BEYOND, low=-0.01, high=0.01)


@claim(
    "X3",
    where="ours, on Chen et al., 2023 (LongLoRA), and its code",
    statement="(Ours.) Groups that roll around, so that first tokens see the last ones, cost nothing in fine-tuning.",
    quantity=(
        "loss after 3 to 4 training lengths, with full attention, less that of groups that do not, the same seed"
    ),
    why=HALF_A_PERCENT,
)
def harmless_leak(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, ("rolled",), "loss_4x", BEYOND, low=-0.01, high=0.01)
