"""The papers' claims on softmax and length, each tested in miniature.

Arms are attention weights: ``softmax``; ``log n`` and ``SSMax``, logits times log n and times a learned multiple of it.
Others are shown, and no claim is about them.

What would refute them: (D1) a weight that does not fall from 16 to 128 items; (S1) a weight at 128 items that is no
greater than that of softmax; (S2) as many right answers, or fewer. A difference of the same seed counts, whatever its
size: the papers give no threshold.
"""

import pandas as pd

from experiments.sequences.checks import explain_unfit
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
SOFTMAX, SCALED = "softmax", ("log n", "SSMax")
ANY = "the papers have no threshold, so any difference counts"


def by_seed(runs: pd.DataFrame, arm: str, value: str, last: int) -> pd.Series:
    """Return a ``value`` of an arm's runs in the range of lengths that ends at ``last``, by seed. Raises NoEvidence."""
    rows = runs[(runs["arm"] == arm) & (runs["last"] == last)]
    if rows.empty:
        raise NoEvidence(f"no finished run of {arm} tested to length {last}")
    return rows.set_index("seed")[value]


def describe_unfit(runs: pd.DataFrame, *arms: str) -> str:
    """Return why the runs of ``arms`` cannot answer, as ``explain_unfit`` does for one."""
    fits = runs[runs["arm"].isin(arms)].drop_duplicates("run").groupby("arm", sort=False)["fit"]
    return ", ".join(f"{arm}: {why}" for arm, fit in fits if (why := explain_unfit(fit)))


def lead(runs: pd.DataFrame, arm: str, value: str, what: str) -> Check:
    """Check that a ``value`` at the longest lengths is greater under ``arm`` than under softmax, seed by seed."""
    last = runs["last"].max()
    # A range excludes only its upper end, so that equal values do not pass.
    less = (by_seed(runs, SOFTMAX, value, last) - by_seed(runs, arm, value, last)).to_numpy()
    told = f"{runs['task'].iloc[0]}, {arm}: {what}"
    return Check(told, less, high=0.0, untested=describe_unfit(runs, SOFTMAX, arm))


def _disperses(runs: pd.DataFrame) -> list[Check]:
    near, far = (by_seed(runs, SOFTMAX, "weight", last) for last in (runs["train_length"].iloc[0], runs["last"].max()))
    what = f"{runs['task'].iloc[0]}, softmax: weight at 8 times the training length, as a multiple of that at it"
    return [Check(what, (far / near).to_numpy(), high=1.0, untested=describe_unfit(runs, SOFTMAX))]


CLAIMS.claim(
    "D1",
    where="Veličković et al., 2024, theorem 2.2",
    statement="Under softmax the attention weight on the right item falls as the items get more.",
    quantity="mean weight at eight times the training length / that at the training length, the same run",
    why=ANY,
)(_disperses)

CLAIMS.claim(
    "S1",
    where="Nakanishi, 2025, abstract",
    statement="Logits times log n, and SSMax, keep more weight on the right item at eight times the training length.",
    quantity="mean weight under softmax less that under the other, the same seed",
    why=ANY,
)(lambda runs: [lead(runs, arm, "weight", "weight, that of softmax less its own") for arm in SCALED])

CLAIMS.claim(
    "S2",
    where="Nakanishi, 2025, abstract",
    statement="So they answer more questions right at four to eight times the training length.",
    quantity="exact match under softmax less that under the other, the same seed",
    why=ANY,
)(lambda runs: [lead(runs, arm, "exact", "exact match, that of softmax less its own") for arm in SCALED])
