"""The lab's claims on misalignment as a predictor, with encodings as the units."""

from collections.abc import Callable

import pandas as pd

from experiments.correlations import LEAST_GROUPS
from experiments.long_short_alignment.correlation_claims import check_estimate
from experiments.long_short_alignment.drawn_encodings.analysis import TRAINING, measure, split_tasks, widen
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import Claims

DRAWN = Claims[pd.DataFrame]()
ON_TEXTS = {
    "sce": "misalignment",
    "excess": "misalignment beyond entropy",
    "excess_scaled": "misalignment beyond entropy, relative to the entropy",
}
ON_NUMBERS = {"wasserstein": "distance of outputs", "wasserstein_scaled": "distance of outputs in their deviations"}
LOSS = "loss after 3 to 4 training lengths"
ERROR = "relative error at five times the training length"
INTERVALS = "intervals of 95 % over encodings drawn from a distribution, whichever family of them is left out"
QUANTITY = "Spearman's correlation over encodings, means over seeds, with the"
ON_TABLE = "our question, on table 1"


def _checks(predictors: dict[str, str], outcome: str, other: str | None) -> Callable[[pd.DataFrame], list[Check]]:
    """Return the check function of a claim: the correlations of ``predictors``, or their leads over ``other``."""

    def check(runs: pd.DataFrame) -> list[Check]:
        found = []
        for task, units in split_tasks(runs).items():
            if len(units) < LEAST_GROUPS:
                raise NoEvidence(f"{task}: {len(units)} encodings are too few for an interval")
            for x, name in predictors.items():
                value = widen(units, lambda rows, x=x: measure(rows, x, outcome, other=other))
                what = f"{task}, {name}: rank correlation{' less that of the training loss' if other else ''}"
                found.append(check_estimate(units, what, value, "encodings", low=0.0))
        return found

    return check


DRAWN.claim(
    "E1",
    where=ON_TABLE,
    statement=f"(Ours.) Over encodings, the more misaligned language models are in training, the larger is the {LOSS}.",
    quantity=f"{QUANTITY} {LOSS}, of misalignment within the training length, scaled or not; {INTERVALS}",
    why="any correlation above 0 counts",
)(_checks(ON_TEXTS, "loss_4x", None))

DRAWN.claim(
    "E2",
    where=ON_TABLE,
    statement=f"(Ours.) Over encodings, misalignment predicts the {LOSS} better than the training loss does.",
    quantity=f"{QUANTITY} {LOSS}, of misalignment, scaled or not, less that of the training loss; {INTERVALS}",
    why="any lead above 0 counts",
)(_checks(ON_TEXTS, "loss_4x", TRAINING))

DRAWN.claim(
    "F",
    where="our question, on sections 3 and 4",
    statement=(
        "(Ours.) Over encodings, the more misaligned models of one number task are in training, the larger is the "
        f"{ERROR}."
    ),
    quantity=f"{QUANTITY} {ERROR}, of misalignment within the training length, scaled or not; {INTERVALS}",
    why="any correlation above 0 counts",
)(_checks(ON_NUMBERS, "error_5x", None))
