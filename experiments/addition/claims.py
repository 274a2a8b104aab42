"""Claims of three papers on addition, each tested in miniature.

Position coupling (Cho et al., 2024): C1 to C3. C1 is refuted by a median of the coupled runs of 95 % or less at two or
three times the training length; C2 by a median above that of another arm at three times; C3 by an arm that is not
behind in the median.

Abacus embeddings (McLeish et al., 2024): A1, refuted by RoPE not behind in the median; so is O1, ours, on coupling.

"Not robustly" (Zhou et al., 2024): Z1 and Z2, refuted by a spread beyond training that is no larger than within.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.sequences import checks
from experiments.sequences.checks import explain_unfit
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
claim = CLAIMS.claim

LEVEL = 0.05
WHY = "the paper calls more than 95 % exact match success (caption of Figure 1)"
ORDER = "the paper orders the methods, so any difference counts"
COUPLING = "Cho et al., section 4 and Figure 1"
ABACUS = "McLeish et al., section 3 and Figure 1"
ROBUST = "Zhou et al., abstract"
OTHERS = ("nope", "random starts", "hints")  # those of Cho et al.


def select_ends(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the training lengths, and those of the last range."""
    if runs.empty:
        raise NoEvidence("no finished run")
    return runs[runs["last"] <= runs["train_length"]], runs[runs["last"] == runs["last"].max()]


def is_ahead(runs: pd.DataFrame, arm: str, others: Sequence[str]) -> list[Check]:
    """Check that an ``arm`` has more right in the last range than each of ``others``, seed by seed, where both fit."""
    within, last = select_ends(runs)
    exact, found = last.pivot(index="seed", columns="arm", values="exact"), []
    for other in others:
        if not {arm, other} <= set(exact):
            raise NoEvidence(f"no finished runs of {arm} and {other}")
        fit = {each: explain_unfit(within.loc[within["arm"] == each, "fit"]) for each in (arm, other)}
        untested = ", ".join(f"{each}: {why}" for each, why in fit.items() if why)
        what = f"{other}: share right in the last range, less that of {arm}"
        found.append(Check(what, (exact[other] - exact[arm]).to_numpy(), high=0.0, untested=untested))
    return found


def spreads(runs: pd.DataFrame, over: str) -> list[Check]:
    """Check that exact match spreads more ``over`` seeds in the last range than within training.

    The spread is the standard deviation over seeds of one kind; there is a value for each seed of the other. Arms are
    seeds of weights.
    """
    within, last = select_ends(runs)
    axis = 1 if over == "weights" else 0
    spread = [np.std(part.pivot(index="seed", columns="arm", values="exact"), axis=axis) for part in (within, last)]
    what = f"standard deviation of exact match over {over}, within training less that in the last range"
    return [Check(what, (spread[0] - spread[1]).to_numpy(), high=0.0, untested=explain_unfit(within["fit"]))]


claim(
    "C1",
    where=COUPLING,
    statement="With coupled positions a one-layer model adds numbers of two and three times the training length.",
    quantity="share of wrong sums in each range of lengths beyond training",
    why=WHY,
)(lambda runs: checks.generalizes(runs, "coupled", LEVEL))

claim(
    "C2",
    where=COUPLING,
    statement="NoPE, learned positions with random starts, and index hints do not add at three times that length.",
    quantity="share of wrong sums in the last range of lengths",
    why=WHY,
)(lambda runs: [check for arm in OTHERS for check in checks.fails(runs, arm, LEVEL)])

claim(
    "C3",
    where=COUPLING,
    statement="At three times the training length coupling is ahead of NoPE, random starts and index hints.",
    quantity="exact match in the last range of lengths under the same seed, the other's less that of coupling",
    why=ORDER,
)(lambda runs: is_ahead(runs, "coupled", OTHERS))

claim(
    "A1",
    where=ABACUS,
    statement="At three times the training length Abacus embeddings are ahead of RoPE.",
    quantity="exact match in the last range of lengths under the same seed, RoPE's less that of Abacus",
    why=ORDER,
)(lambda runs: is_ahead(runs, "abacus", ["rope"]))

claim(
    "O1",
    where="ours, on position coupling",
    statement="(Ours.) At three times the training length coupling is ahead of RoPE.",
    quantity="exact match in the last range of lengths under the same seed, RoPE's less that of coupling",
    why=ORDER,
)(lambda runs: is_ahead(runs, "coupled", ["rope"]))

for id, over, seeds in (("Z1", "weights", "initial weights"), ("Z2", "data", "the order of the data")):
    claim(
        id,
        where=ROBUST,
        statement=f"Exact match varies more over seeds of {seeds} beyond the training length than within.",
        quantity="standard deviation over five seeds, within training less that in the last range of lengths",
        why="the paper calls it fragile, unlike within training, so any difference counts",
    )(lambda runs, over=over: spreads(runs, over))
