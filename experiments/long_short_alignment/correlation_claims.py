"""The claims on which quantities correlate with the loss or error on longer inputs, over models."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from experiments.correlations import (
    COVERAGE,
    LEAST_GROUPS,
    WITNESSES,
    Correlation,
    correlation,
    lead,
    spearman,
    widen_by_leaving_out,
)
from experiments.long_short_alignment.run_table import SAME_TARGETS, WITHIN, among_targets
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate
from synthlab.studies.verdicts import Claims

CORRELATIONS = Claims[pd.DataFrame]()
claim = CORRELATIONS.claim
TRAINING = 0.76  # Pearson's correlation of the training loss with the log of perplexity, of the columns of table 1
ALIKE = ("setting", "seed")  # models with equal values in these are trained alike
DISTANCES = {"sce": "misalignment", "excess": "misalignment beyond entropy"}
NUMBER_DISTANCES = {"wasserstein_within": "scaled", "wasserstein_raw_within": "not scaled"}
WITNESSES_OF_MODELS = ("settings", "encodings")
INTERVALS = (
    "intervals of 95 % over settings of the training, whichever encoding is left out, and over encodings, for this "
    "draw of weights and texts alone"
)
NO_OTHER = None  # a threshold of a correlation cannot be scaled, since correlations end at 1


def check_estimate(
    runs: pd.DataFrame, what: str, found: Correlation, of: str, low: float, centre: float | None = 0.0
) -> Check:
    """Return a check on a correlation whose interval rests on independent units, ``of`` the ``runs``.

    Raises NoEvidence if these are too few for an interval.
    """
    number = int(runs[WITNESSES[of]].nunique())
    if number < LEAST_GROUPS:
        raise NoEvidence(f"{number} {of} are too few for an interval: it takes {LEAST_GROUPS}")
    if np.isnan(found.low):
        raise NoEvidence("a quantity is not finite, or does not vary over the models")
    estimate = GroupEstimate(ConfidenceInterval(found.low, found.high, COVERAGE), number, of)
    return Check(what, np.array([found.value]), low=low, estimate=estimate, centre=centre)


def check_lead(runs: pd.DataFrame, x: str, name: str, y: str, of: str) -> Check:
    """Return a check that ``x`` correlates more strongly with ``y`` than the training loss does.

    It compares models that are trained alike; ``name`` is the name of ``x``. Raises NoEvidence as ``check_estimate``
    does.
    """
    first, other = f"{x}{WITHIN}", f"loss_1x{WITHIN}"
    value = widen_by_leaving_out(runs, [first, other, y], of, ALIKE, lambda rows, by: lead(rows, first, other, y, by))
    return check_estimate(runs, f"{name}, {describe_witnesses(of)}: less that of the training loss", value, of, low=0.0)


def describe_witnesses(of: str) -> str:
    """Return the words for the units that an interval rests on."""
    return f"over {of}" if of == "encodings" else f"over {of}, whichever encoding is left out"


@claim(
    "T1",
    where="Table 1",
    statement=(
        "Misalignment within the training length correlates with the loss on longer text, more closely than the "
        "training loss does."
    ),
    quantity=(
        "Pearson's correlation, among models trained alike but for encoding and extension, of the log of perplexity "
        "over four training lengths with the symmetric cross-entropy of equation 2, with its part beyond entropy, and "
        f"with the loss within the training length; {INTERVALS}"
    ),
    why=(
        "0.76 is what the training loss reaches in the paper, by the columns of its table; misalignment is to reach "
        "that, and more than the training loss here"
    ),
)
def predicts(runs: pd.DataFrame) -> list[Check]:
    """Check that each distance correlates with the loss beyond training as strongly as the paper's training loss."""
    y, found = f"loss_to_4x{WITHIN}", []
    for (x, name), of in product(DISTANCES.items(), WITNESSES_OF_MODELS):
        column = f"{x}{WITHIN}"
        value = widen_by_leaving_out(
            runs, [column, y], of, ALIKE, lambda rows, by, column=column: correlation(rows, column, y, by)
        )
        found.append(
            check_estimate(
                runs, f"{name}, {describe_witnesses(of)}: correlation", value, of, low=TRAINING, centre=NO_OTHER
            )
        )
        found.append(check_lead(runs, x, name, y, of))
    return found


@claim(
    "S",
    where="Sections 3 and 4",
    statement=(
        "On tasks whose answer is a number: the more the distribution of a model's outputs changes between training "
        "lengths, scaled by the spread of the outputs or not, the larger is its error at five times the training "
        "length."
    ),
    quantity=(
        "Spearman's correlation, for each task, of the relative error at 5 l with the mean Wasserstein distance of the "
        "outputs at two training lengths, in representation space, as it is and in standard deviations of the outputs, "
        "each less its mean over the models of the same task, map and seed; intervals of 95 % over trainings, "
        "whichever encoding is left out, and over encodings"
    ),
    why=(
        "any correlation above 0 counts. The models compared have outputs of one unit, so that the answer should not "
        "depend on scaling. Models of several tasks and maps differ in their targets, too, and are not compared with "
        "one another. Trainings of one encoding are alike, so intervals over trainings are too narrow"
    ),
)
def numbers(runs: pd.DataFrame) -> list[Check]:
    """Check that the rank correlation of misalignment and error is positive on each number task."""
    y, found = "error_within", []
    tasks = among_targets(runs).groupby("task", sort=False)
    for (task, rows), (x, scale), of in product(tasks, NUMBER_DISTANCES.items(), ("trainings", "encodings")):
        value = widen_by_leaving_out(
            rows, [x, y], of, SAME_TARGETS, lambda part, by, x=x: correlation(part, x, y, by, spearman)
        )
        what = f"{task}, {scale}, {describe_witnesses(of)}: rank correlation"
        found.append(check_estimate(rows, what, value, of, low=0.0, centre=NO_OTHER))
    return found


OUTCOMES = {
    "P1": ("loss_4x", "loss after 3 to 4 training lengths"),
    "P2": ("recall_error_4x", "share of facts not recalled in texts of four training lengths"),
    "P3": (
        "needle_error_4x",
        "share of single facts, surrounded by filler, that are not recalled in texts of four training lengths",
    ),
    "P4": ("tracking_error_4x", "share of linked facts not recalled in texts of four training lengths"),
}


def _leads(outcome: str) -> Callable[[pd.DataFrame], list[Check]]:
    """Return the check function of a claim on ``outcome``."""

    def check(runs: pd.DataFrame) -> list[Check]:
        compared = product(DISTANCES.items(), WITNESSES_OF_MODELS)
        return [check_lead(runs, x, name, outcome + WITHIN, of) for (x, name), of in compared]

    return check


for id, (outcome, what) in OUTCOMES.items():
    claim(
        id,
        where="ours, on table 1",
        statement=(
            "(Ours.) Of misalignment and loss, both within the training length, misalignment is the better predictor "
            f"of the {what}."
        ),
        quantity=(
            f"Pearson's correlation with the {what}, among models trained alike but for encoding and extension, of the "
            f"symmetric cross-entropy of equation 2, and of its part beyond entropy, less that of the loss within the "
            f"training length; {INTERVALS}"
        ),
        why="any lead counts",
    )(_leads(outcome))
