"""The paper's claims about language models (sections 4 to 6, appendix E, the rebuttals), each decided in miniature."""

import pandas as pd

from experiments.long_short_alignment.arms import by_depth
from experiments.long_short_alignment.checks import checks, effects, recall_checks
from experiments.long_short_alignment.correlation_claims import CORRELATIONS
from experiments.long_short_alignment.extension_claims import EXTENSIONS
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Claims

# Those on what correlates with the loss or error, those on context extension, and those that follow.
CLAIMS = Claims[pd.DataFrame](CORRELATIONS | EXTENSIONS)
claim = CLAIMS.claim
BEYOND = "change of the loss after 3 to 4 training lengths, nats"
MODERATE, STRONG = ("alpha 0.1", "alpha 0.3"), ("alpha 0.5", "alpha 1")
LESS = "less that of alpha 0, the same seed and as many windows, fine-tuned for 50 or 200 steps under PI, YaRN or EABF"

claim(
    "A1",
    where="Tables 2 to 4",
    statement="Regularization with alpha 0.1 to 0.3 lowers the loss on longer text.",
    quantity=f"loss after 3 to 4 training lengths {LESS}",
    why="any gain counts",
)(lambda runs: checks(runs, MODERATE, "loss_4x", BEYOND, high=0.0))

claim(
    "A1s",
    where="Tables 2 to 4",
    statement=(
        "Regularization with alpha 0.1 to 0.3 raises scores on longer text that ignore how confident an answer is."
    ),
    quantity=f"top-1 accuracy after 3 to 4 training lengths {LESS}",
    why=(
        "any gain counts; there is no LongBench-E here, and the share of tokens that are the model's most probable "
        "is the score that every text has"
    ),
)(lambda runs: checks(runs, MODERATE, "accuracy_4x", "change of top-1 accuracy after 3 to 4 training lengths", low=0.0))


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


claim(
    "A2",
    where="Table 4",
    statement="Larger coefficients, 0.5 and 1, hurt: the loss on longer text is higher than without.",
    quantity=f"loss after 3 to 4 training lengths {LESS}",
    why="any loss counts",
)(lambda runs: checks(runs, STRONG, "loss_4x", BEYOND, low=0.0))

claim(
    "A3",
    where="Section 4.2",
    statement="Training against misalignment lowers it.",
    quantity=f"symmetric cross-entropy of equation 2 {LESS}",
    why="any decrease counts",
)(lambda runs: checks(runs, MODERATE, "sce", "change of the misalignment", high=0.0))

claim(
    "A3e",
    where="ours, on section 4.2",
    statement="(Ours.) It lowers that part of misalignment, too, which is not entropy: the answers agree better.",
    quantity=f"misalignment beyond entropy {LESS}",
    why="any decrease counts",
)(lambda runs: checks(runs, MODERATE, "excess", "change of the misalignment beyond entropy", high=0.0))


@claim(
    "D",
    where="ours, on equation 1",
    statement=(
        "(Ours.) Training the two answers to agree, by the symmetric KL alone, lowers the loss on longer text and "
        "costs nothing within the training length."
    ),
    quantity=(
        "loss after 3 to 4 training lengths with the part of equation 1's distance beyond entropy, at alpha 0.1 and 1, "
        "less that of alpha 0, the same seed; at alpha 1 also the loss within the training length"
    ),
    why="any gain counts; 0.01 nats within the training length is less than seeds differ by",
)
def without_entropy(runs: pd.DataFrame) -> list[Check]:
    return [
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
    statement="Offsets of up to a quarter of the window do as well as those of up to half; offsets between are worse.",
    quantity="loss after 3 to 4 training lengths less that of offsets from 1 to l/2, the same seed",
    why="0.01 nats is half a percent of the loss",
)
def quarter(runs: pd.DataFrame) -> list[Check]:
    return [
        *checks(runs, ("1 to l/4",), "loss_4x", BEYOND, low=-0.01, high=0.01),
        *checks(runs, ("l/4 to l/2",), "loss_4x", BEYOND, low=0.0),
    ]


claim(
    "R2",
    where="Table 5 and the rebuttal",
    statement="The broadest range of offsets, contexts of any length, is much worse than up to half the window.",
    quantity="loss after 3 to 4 training lengths less that of offsets from 1 to l/2, the same seed",
    why="any loss counts",
)(lambda runs: checks(runs, ("1 to l",), "loss_4x", BEYOND, low=0.0))

claim(
    "R3",
    where="Table 5 and the rebuttal",
    statement="The narrowest range of offsets, up to l/20, helps less than up to half the window.",
    quantity="loss after 3 to 4 training lengths less that of offsets from 1 to l/2, the same seed",
    why="any loss counts",
)(lambda runs: checks(runs, ("1 to l/20",), "loss_4x", BEYOND, low=0.0))


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


claim(
    "N1",
    where="Table 7",
    statement="Facts at the beginning are recalled as well with the regularizer (alpha 0.1).",
    quantity=(
        "share of right answers about facts at depth 0, in texts of the training length, less that of alpha 0, same "
        "seed"
    ),
    why="0.02 is what the paper calls comparable",
)(lambda runs: recall_checks(runs, "alpha 0.1", [0.0], "change at depth 0", low=-0.02))

claim(
    "N2",
    where="Rebuttal to the fourth reviewer",
    statement="A larger coefficient (0.5) hurts the recall of early facts, at depths 0 and 0.25.",
    quantity=(
        "share of right answers about facts at depths 0 and 0.25, in texts of the training length, less that of alpha 0"
    ),
    why="any loss counts",
)(lambda runs: recall_checks(runs, "alpha 0.5", [0.0, 0.25], "change at depths 0 and 0.25", high=0.0))


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
    what = "change at four training lengths"
    return recall_checks(runs, "alpha 0.1", depths, what, 4, low=1e-9, centre=None)  # more than 0 has no scale
