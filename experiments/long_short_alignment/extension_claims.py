"""Claims on methods that the paper names for extending the context by training: CREAM, CLEX, LongQLoRA.

See sections 1 and 5.
"""

import pandas as pd

from experiments.long_short_alignment.checks import checks
from synthlab.studies.verdicts import Claims

EXTENSIONS = Claims[pd.DataFrame]()
claim = EXTENSIONS.claim
BEYOND = "change of the loss after 3 to 4 training lengths, nats"
FAR_BEYOND = "change of the loss after 7 to 8 training lengths, nats"

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
