"""The paper's claims about language models (sections 4 to 6, appendix E, the rebuttals), each decided in miniature."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from experiments.long_short_alignment.analyses import baseline, by_depth, differences
from experiments.long_short_alignment.correlations import (
    COVERAGE,
    LEAST_GROUPS,
    WITNESSES,
    Correlation,
    correlation,
    lead,
    spearman,
)
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import Estimate, Interval
from synthlab.studies.verdicts import Check, Claims

CLAIMS = Claims[pd.DataFrame]()
claim = CLAIMS.claim
# Correlation of the training loss with the log of perplexity in the paper's table 1: Pearson's of the columns that it
# prints, and Spearman's, which is the 0.67 that it prints.
TRAINING, TRAINING_BY_RANKS = 0.76, 0.67
NO_OTHER = None  # no threshold is half or twice one of these: correlations end at 1, "more than 0" has no scale


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


def effects(runs: pd.DataFrame, arm: str, quantity: str) -> dict[str, np.ndarray]:
    """By model, how far ``arm`` differs from the first arm in a quantity, for each seed. Raises NoEvidence."""
    found = differences(runs, quantity)
    found = found[found["arm"] == arm]
    if found.empty:
        raise NoEvidence(f"no runs of {arm} beside those of {baseline(runs)}")
    return {str(model): rows[quantity].to_numpy() for model, rows in found.groupby("variant", sort=False)}


def checks(
    runs: pd.DataFrame, arms: Sequence[str], quantity: str, what: str, low: float = -np.inf, high: float = np.inf
) -> list[Check]:
    """A check for each arm and model on the difference from the first arm."""
    return [
        Check(f"{model}, {arm}: {what}", values, low, high)
        for arm in arms
        for model, values in effects(runs, arm, quantity).items()
    ]


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
    what, y = {"sce": "misalignment", "excess": "misalignment beyond entropy"}, "loss_to_4x_within"
    found = []
    for (x, name), of in product(what.items(), ("settings", "encodings")):
        by = WITNESSES[of]
        value = correlation(runs, f"{x}_within", y, by)
        found.append(estimated(runs, f"{name}, over {of}: correlation", value, of, low=TRAINING, centre=NO_OTHER))
        value = lead(runs, f"{x}_within", "loss_1x_within", y, by)
        found.append(estimated(runs, f"{name}, over {of}: less that of the training loss", value, of, low=0.0))
    return found


BEYOND = "change of the loss after 3 to 4 training lengths, nats"


MODERATE, STRONG = ("alpha 0.1", "alpha 0.3"), ("alpha 0.5", "alpha 1")
LESS = "less that of alpha 0, the same seed and as many windows, fine-tuned for 50 or 200 steps under PI, YaRN or EABF"


@claim(
    "A1",
    where="Tables 2 to 4",
    statement="Regularization with alpha 0.1 to 0.3 lowers the loss on longer text.",
    quantity=f"loss after 3 to 4 training lengths {LESS}",
    why="any gain counts",
)
def moderate_helps(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, MODERATE, "loss_4x", BEYOND, high=0.0)


@claim(
    "A1s",
    where="Tables 2 to 4",
    statement=(
        "Regularization with alpha 0.1 to 0.3 raises scores on longer text, which do not ask how sure an answer is."
    ),
    quantity=f"top-1 accuracy after 3 to 4 training lengths {LESS}",
    why=(
        "any gain counts; there is no LongBench-E here, and the share of tokens that are the model's most probable "
        "is the score that every text has"
    ),
)
def moderate_scores(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, MODERATE, "accuracy_4x", "change of top-1 accuracy after 3 to 4 training lengths", low=0.0)


@claim(
    "A1t",
    where="ours, on table 4",
    statement=(
        "(Ours.) What alpha 0.1 costs on longer text is calibration: one temperature, fitted within the training "
        "length, gives it back."
    ),
    quantity=(
        "loss after 3 to 4 training lengths, at the best temperature for other texts within the training length, "
        f"{LESS}"
    ),
    why="0.01 nats is half a percent of the loss",
)
def calibration(runs: pd.DataFrame) -> list[Check]:
    what = "change of the calibrated loss after 3 to 4 training lengths, nats"
    return checks(runs, ("alpha 0.1",), "calibrated_loss_4x", what, high=0.01)


@claim(
    "A2",
    where="Table 4",
    statement="Larger coefficients, 0.5 and 1, hurt: the loss on longer text is higher than without.",
    quantity=f"loss after 3 to 4 training lengths {LESS}",
    why="any loss counts",
)
def strong_hurts(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, STRONG, "loss_4x", BEYOND, low=0.0)


@claim(
    "A3",
    where="Section 4.2",
    statement="Training against misalignment lowers it.",
    quantity=f"symmetric cross-entropy of equation 2 {LESS}",
    why="any decrease counts",
)
def lowers_misalignment(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, MODERATE, "sce", "change of the misalignment", high=0.0)


@claim(
    "A3e",
    where="ours, on section 4.2",
    statement="(Ours.) It lowers that part of misalignment, too, which is not entropy: the answers agree better.",
    quantity=f"misalignment beyond entropy {LESS}",
    why="any decrease counts",
)
def lowers_disagreement(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, MODERATE, "excess", "change of the misalignment beyond entropy", high=0.0)


@claim(
    "D",
    where="ours, on equation 1",
    statement="(Ours.) It helps that the two answers agree, and the paper's distance asks for no more.",
    quantity=(
        "loss after 3 to 4 training lengths with the distance of equation 1, and with what it has beyond entropy, less "
        "that of alpha 0, the same seed"
    ),
    why="any gain counts; 0.01 nats within the training length is less than seeds differ by",
)
def without_entropy(runs: pd.DataFrame) -> list[Check]:
    return [
        *checks(runs, ("alpha 0.1",), "loss_4x", BEYOND, high=0.0),
        *checks(runs, ("alpha 0.1, excess", "alpha 1, excess"), "loss_4x", BEYOND, high=0.0),
        *checks(runs, ("alpha 1, excess",), "loss_1x", "change of the loss within the training length", high=0.01),
    ]


@claim(
    "W",
    where="Rebuttal to the second reviewer",
    statement="Within the training length the regularizer costs nothing.",
    quantity=(
        "loss within the training length at alpha 0.1 less that of alpha 0, the same seed, fine-tuned for 200 steps"
    ),
    why="0.0125 nats raise perplexity by 1.2 %, the most that the rebuttal prints (5.74 to 5.81)",
)
def harmless_within(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, ("alpha 0.1",), "loss_1x", "change of the loss within the training length, nats", high=0.0125)


@claim(
    "R1",
    where="Table 5",
    statement="Offsets of up to a quarter of the window do as well as those of up to half, those between worse.",
    quantity="loss after 3 to 4 training lengths less that of offsets from 1 to l/2, the same seed",
    why="0.01 nats is half a percent of the loss",
)
def quarter(runs: pd.DataFrame) -> list[Check]:
    return [
        *checks(runs, ("1 to l/4",), "loss_4x", BEYOND, low=-0.01, high=0.01),
        *checks(runs, ("l/4 to l/2",), "loss_4x", BEYOND, low=0.0),
    ]


@claim(
    "R2",
    where="Table 5 and the rebuttal",
    statement="The broadest range, contexts of any length, is much worse; the narrowest, up to l/20, helps less.",
    quantity="loss after 3 to 4 training lengths less that of offsets from 1 to l/2, the same seed",
    why="any loss counts",
)
def extremes(runs: pd.DataFrame) -> list[Check]:
    return checks(runs, ("1 to l", "1 to l/20"), "loss_4x", BEYOND, low=0.0)


@claim(
    "C",
    where="Appendix E",
    statement="At equal compute the regularizer still helps.",
    quantity=(
        "loss after 3 to 4 training lengths with alpha 0.1, less that of as long a training without: two windows and "
        "5 % more steps, as the paper counts, and one window and twice the steps"
    ),
    why="any gain counts",
)
def equal_compute(runs: pd.DataFrame) -> list[Check]:
    found = []
    for arm in ("two, 5 % more steps", "one, twice the steps"):
        pair = runs[runs["arm"].isin([arm, "two, alpha 0.1"])].assign(baseline=lambda pair, arm=arm: pair["arm"] == arm)
        found += [
            Check(f"{model}, against {arm}: {BEYOND}", values, high=0.0)
            for model, values in effects(pair, "two, alpha 0.1", "loss_4x").items()
        ]
    return found


def _recall(runs: pd.DataFrame, arm: str, depths: Sequence[float], multiple: int = 1) -> Mapping[str, np.ndarray]:
    """By model, the change of the share of right answers for facts at ``depths``, for each seed."""
    facts = by_depth(runs)
    chosen = facts[facts["depth"].isin(depths) & (facts["length"] == multiple * runs["train_length"].iloc[0])]
    if set(depths) - set(chosen["depth"]):
        raise NoEvidence(f"no questions at depths {', '.join(map(str, depths))} in {multiple} training lengths")
    keys = ["arm", "baseline", "variant", "seed"]
    return effects(chosen.groupby(keys, sort=False, as_index=False)["accuracy"].mean(), arm, "accuracy")


@claim(
    "N1",
    where="Table 7",
    statement="Facts at the beginning are recalled as well with the regularizer (alpha 0.1).",
    quantity=(
        "share of right answers about facts at depth 0, in texts of the training length, less that of alpha 0, same "
        "seed"
    ),
    why="0.02 is what the paper calls comparable",
)
def early_facts(runs: pd.DataFrame) -> list[Check]:
    return [
        Check(f"{model}: change at depth 0", values, low=-0.02)
        for model, values in _recall(runs, "alpha 0.1", [0.0]).items()
    ]


@claim(
    "N2",
    where="Rebuttal to the fourth reviewer",
    statement="A larger coefficient (0.5) hurts the recall of early facts, at depths 0 and 0.25.",
    quantity=(
        "share of right answers about facts at depths 0 and 0.25, in texts of the training length, less that of alpha 0"
    ),
    why="any loss counts",
)
def strong_forgets(runs: pd.DataFrame) -> list[Check]:
    return [
        Check(f"{model}: change at depths 0 and 0.25", values, high=0.0)
        for model, values in _recall(runs, "alpha 0.5", [0.0, 0.25]).items()
    ]


@claim(
    "N3",
    where="Tables 6 and 7",
    statement="On texts longer than in training, more facts are recalled with the regularizer (alpha 0.1).",
    quantity=(
        "share of right answers, all depths, in texts of four training lengths, less that of alpha 0, the same seed"
    ),
    why="any gain counts",
)
def longer_recall(runs: pd.DataFrame) -> list[Check]:
    depths = sorted(by_depth(runs)["depth"].unique())
    return [
        Check(f"{model}: change at four training lengths", values, low=1e-9, centre=NO_OTHER)
        for model, values in _recall(runs, "alpha 0.1", depths, 4).items()
    ]


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
