"""The claims on what correlates with the loss or error on longer inputs, over models."""

from itertools import product

import numpy as np
import pandas as pd

from experiments.long_short_alignment.correlations import (
    COVERAGE,
    LEAST_GROUPS,
    WITNESSES,
    Correlation,
    correlation,
    lead,
    spearman,
)
from experiments.long_short_alignment.run_table import WITHIN
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import Estimate, Interval
from synthlab.studies.verdicts import Claims

CORRELATIONS = Claims[pd.DataFrame]()
claim = CORRELATIONS.claim
# Correlation of the training loss with the log of perplexity in the paper's table 1: Pearson's of the columns that it
# prints, and Spearman's, which is the 0.67 that it prints.
TRAINING, TRAINING_BY_RANKS = 0.76, 0.67
DISTANCES = {"sce": "misalignment", "excess": "misalignment beyond entropy"}
WITNESSES_OF_MODELS = ("settings", "encodings")
NO_OTHER = None  # no threshold is half or twice that of a correlation, which ends at 1


def estimated(
    runs: pd.DataFrame, what: str, found: Correlation, of: str, low: float, centre: float | None = 0.0
) -> Check:
    """A check on a correlation whose interval rests on the independent witnesses ``of`` the ``runs``. Raises
    NoEvidence where these are too few for an interval."""
    number = int(runs[WITNESSES[of]].nunique())
    if number < LEAST_GROUPS:
        raise NoEvidence(f"{number} {of} are too few for an interval: it takes {LEAST_GROUPS}")
    if np.isnan(found.low):
        raise NoEvidence("a quantity is not finite, or does not vary over the models")
    estimate = Estimate(Interval(found.low, found.high, COVERAGE), number, of)
    return Check(what, np.array([found.value]), low=low, estimate=estimate, centre=centre)


def ahead(runs: pd.DataFrame, x: str, name: str, y: str, of: str) -> Check:
    """A check that the correlation with ``y`` of ``x``, which is called ``name``, exceeds that of the training loss,
    among models trained alike. Raises NoEvidence as ``estimated`` does."""
    value = lead(runs, f"{x}{WITHIN}", f"loss_1x{WITHIN}", y, WITNESSES[of])
    return estimated(runs, f"{name}, over {of}: less that of the training loss", value, of, low=0.0)


@claim(
    "T1",
    where="Table 1",
    statement=(
        "Misalignment within the training length correlates with the loss on longer text, better than the training "
        "loss."
    ),
    quantity=(
        "Pearson's correlation, among models trained alike but for encoding and extension, of the log of perplexity "
        "over four training lengths with the symmetric cross-entropy of equation 2, with its part beyond entropy, and "
        "with the loss within the training length; intervals of 95 % over settings of the training, and over encodings"
    ),
    why=(
        "0.76 is what the training loss reaches in the paper, by the columns of its table; misalignment is to reach "
        "that, and more than the training loss here"
    ),
)
def predicts(runs: pd.DataFrame) -> list[Check]:
    y, found = f"loss_to_4x{WITHIN}", []
    for (x, name), of in product(DISTANCES.items(), WITNESSES_OF_MODELS):
        value = correlation(runs, f"{x}{WITHIN}", y, WITNESSES[of])
        found.append(estimated(runs, f"{name}, over {of}: correlation", value, of, low=TRAINING, centre=NO_OTHER))
        found.append(ahead(runs, x, name, y, of))
    return found


@claim(
    "S",
    where="Sections 3 and 4",
    statement=(
        "On tasks with a number for an answer, models whose output distributions differ between training lengths err "
        "more at five times the training length."
    ),
    quantity=(
        "Spearman's correlation over models of the relative error at 5 l with the mean Wasserstein distance of the "
        "outputs at two training lengths, in representation space and standard deviations; among models of one task "
        "and map, of what either has beyond their mean; intervals of 95 % over independent trainings"
    ),
    why=(
        "0.67, as for language models; among models of one task and map, whose targets are the same, 0.3, which 126 "
        "models reach by chance once in a thousand times"
    ),
)
def numbers(runs: pd.DataFrame) -> list[Check]:
    by, x, y = WITNESSES["trainings"], "wasserstein_scaled", "error_5x"
    found = {
        "all tasks: rank correlation": (correlation(runs, x, y, by, spearman), TRAINING_BY_RANKS, NO_OTHER),
        "all tasks: rank correlation less that of the targets' own misalignment": (
            lead(runs, x, "targets_scaled", y, by, spearman),
            0.0,
            0.0,
        ),
        "among models of one task and map: rank correlation": (
            correlation(runs, "wasserstein_within", "error_within", by, spearman),
            0.3,
            NO_OTHER,
        ),
    }
    return [estimated(runs, what, value, "trainings", low, centre) for what, (value, low, centre) in found.items()]
