"""What threshold attention and forget gates do on flip-flops. All tests of a study are judged together."""

import numpy as np
import pandas as pd

from experiments.flipflops.scores import LEVEL, least_right
from experiments.sequences.checks import explain_unfit
from synthlab.sequences.evaluation import wilson
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
claim = CLAIMS.claim

EVERY = 0.94  # the least share that 50 of 50 leave room for, at 95 %
ERRS = 0.05
ONE = " one layer"  # how the name of an arm with one layer ends
OTHERS = ("nope", "rope", "alibi")


@claim(
    "threshold",
    where="Opper et al. (2025), the authors' notebook (MOSS 2025, submission 96)",
    statement=(
        "TRA gets sparse and dense flip-flops right with every seed (published: 50 of 50; ours: 99 % right, with at "
        "least 94 % of the seeds that fit)."
    ),
    quantity="share of models that fit and get both tests right, at training lengths, and to four times these",
    why="94 % is what 50 of 50 leave room for; fewer than 60 seeds cannot show it, but can refute it",
)
def every_seed(runs: pd.DataFrame) -> list[Check]:
    """Check that nearly all models with threshold attention generalize, by the interval of their share."""
    found = []
    for times in (1, 4):
        models = least_right(_select(runs, "threshold"), times)
        fitting = models[models["fit"]]
        right = (fitting["exact"] >= LEVEL).astype(float).to_numpy()
        untested = explain_unfit(models["fit"])
        what = f"TRA, to {times} times the training length: share of models with both tests right"
        if not len(right):
            raise NoEvidence("no model with TRA fits")
        low, high = wilson(float(right.mean()), len(right))[1:]
        estimate = GroupEstimate(ConfidenceInterval(low, high, 0.95), len(right), "seeds")
        found.append(Check(what, right, low=EVERY, estimate=estimate, untested=untested))
    return found


@claim(
    "one_layer",
    where="Yang et al. (2025), PaTH attention, Table 1, arXiv 2505.16381",
    statement=(
        "With one layer, neither RoPE nor FoX gets sparse flip-flops right, and both get dense ones right (ours: more "
        "and less than 5 % wrong)."
    ),
    quantity="share of wrong answers at training lengths",
    why=(
        "published: 40.3 and 36.3 % wrong on sparse, 0.01 and 0 % on dense ones, so any threshold between agrees with "
        "them. Those models did not fit, so all runs are judged"
    ),
)
def one_layer(runs: pd.DataFrame) -> list[Check]:
    """Check that models of one layer err on sparse flip-flops and not on dense ones."""
    found = []
    for arm in ("rope", "fox"):
        for test, bounds in (("sparse", (ERRS, np.inf)), ("dense", (-np.inf, ERRS))):
            wrong = 1 - least_right(_select(runs, arm + ONE), 1, (test,))["exact"].to_numpy()
            found.append(Check(f"{test}, {arm}, one layer: share wrong", wrong, *bounds))
    return found


@claim(
    "gates",
    where="ours, on Lin et al. (2025) and Opper et al. (2025)",
    statement="(Ours.) With two layers, FoX and TRA err less on sparse flip-flops, to four times the training length, "
    "than NoPE, RoPE and ALiBi.",
    quantity="share wrong in the worst range of lengths, theirs less that of the others, seed by seed",
    why="any difference counts",
)
def gates(runs: pd.DataFrame) -> list[Check]:
    """Check that forget gates and thresholds err less than each plain encoding on sparse flip-flops."""
    found = []
    for arm in ("fox", "threshold"):
        mine = least_right(_select(runs, arm), 4, ("sparse",)).set_index("seed")
        for other in OTHERS:
            theirs = least_right(_select(runs, other), 4, ("sparse",)).set_index("seed")["exact"]
            lead = (theirs - mine["exact"]).dropna().to_numpy()
            what = f"sparse, {arm} less {other}: share wrong"
            # A range excludes only its upper end, so equal errors do not pass.
            found.append(Check(what, lead, high=0.0, untested=explain_unfit(mine["fit"])))
    return found


def _select(runs: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Return the runs of an arm. Raises NoEvidence if there are none."""
    selected = runs[runs["arm"] == arm]
    if selected.empty:
        raise NoEvidence(f"no finished run of {arm}")
    return selected
