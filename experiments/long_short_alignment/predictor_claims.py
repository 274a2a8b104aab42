"""The claims on what predicts which failure beyond the training length: loss, recall, needles, tracking."""

from collections.abc import Callable
from itertools import product

import pandas as pd

from experiments.long_short_alignment.correlation_claims import DISTANCES, WITNESSES_OF_MODELS, ahead
from experiments.long_short_alignment.run_table import WITHIN
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

PREDICTORS = Claims[pd.DataFrame]()
OUTCOMES = {
    "P1": ("loss_4x", "loss after 3 to 4 training lengths"),
    "P2": ("recall_error_4x", "share of facts not recalled in texts of four training lengths"),
    "P3": ("needle_error_4x", "share of facts not recalled among fillers alone in texts of four training lengths"),
    "P4": ("tracking_error_4x", "share of linked facts not recalled in texts of four training lengths"),
}


def _leads(outcome: str) -> Callable[[pd.DataFrame], list[Check]]:
    """The judge of a claim on ``outcome``."""

    def judge(runs: pd.DataFrame) -> list[Check]:
        compared = product(DISTANCES.items(), WITNESSES_OF_MODELS)
        return [ahead(runs, x, name, outcome + WITHIN, of) for (x, name), of in compared]

    return judge


for id, (outcome, what) in OUTCOMES.items():
    PREDICTORS.claim(
        id,
        where="ours, on table 1",
        statement=(
            f"(Ours.) Misalignment within the training length predicts the {what} better than the loss within it does."
        ),
        quantity=(
            f"Pearson's correlation with the {what}, among models trained alike but for encoding and extension, of the "
            f"symmetric cross-entropy of equation 2, and of its part beyond entropy, less that of the loss within the "
            f"training length; intervals of 95 % over settings of the training, whichever encoding is left out, "
            f"and over encodings"
        ),
        why="any lead counts",
    )(_leads(outcome))
