"""A test of the lab's account of why 1/x is easy: make the readout's weights fall as another power of the length.

The account (``mechanism``) says: the length k reaches EOS as a weight w = 1 / (a + b k), and 1/x is the best map
because it is smooth in w at w = 0. ``Readout`` adds (1 - q) log k to a logit, so that the weight falls as k^-q, and
changes nothing else. As a function of w, x^p is then w^(-p / q). Milder powers than p = -q have infinite slope at
w = 0. Steeper ones have outputs nearer 0, where an error costs more once it is decoded. So the account predicts p = -q.

Prediction and refutation, written before the first run:

- ``power``: for q = 1/2, 1 and 2, the best power lies nearer to -q than to the power predicted for the next q. It is
  refuted if the best power lies outside for more of the q than chance explains.
- That the best power is steeper for a larger q was a claim, too, against the rival account that it is -1 whatever q is.
  Half of the intervals end at the end of the powers that were tried, so these runs cannot decide it.

With BOS alone raised, the token's own weight still falls as 1/k, and a model may count by that. If the best power stays
at -1 there and moves where both are raised, then models count by whichever weight suits them. Without BOS, the own
weight alone tells the length. Without either, none does (the control).
"""

import math
from functools import lru_cache
from typing import cast

import numpy as np
import pandas as pd

from synthlab.analysis.series import plain_label
from synthlab.models.encodings.readout import Readout as Readout  # recorded runs name it by this module
from synthlab.numbers.run import NumbersRun
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence, logarithms
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()
HALF = 0.5  # on the scale log2 of q, where 1/2, 1 and 2 are 1 apart
FEWEST = 3  # the fewest powers of a seed that must fit: a parabola needs three
RAISED = {"bos": "BOS", "both": "both", "own": "own token"}


@lru_cache(maxsize=16)  # each of three claims asks for it
def find_best_powers(evidence: Evidence) -> dict[float, pd.Series]:
    """Return for each q, in order, the best power of each seed as -p: p belongs to the map x^p with the smallest error.

    The error of a run is its geometric mean over the lengths beyond training, as where claims compare maps: at a single
    length an error may happen to pass through 0. Only runs that fit are candidates. Between powers, the logarithm of
    the error is taken for a parabola in log(-p) through the best power and its neighbours; a best power at an end of
    the range stays there. NaN for a seed of which fewer than three powers fit.
    """
    every, fitting = _tabulate(evidence), evidence.fitting()
    candidates = every if fitting is None else _tabulate(fitting.given)
    none = pd.DataFrame()
    return {
        q: candidates.get(q, none).reindex(errors.index).apply(_find_minimum, axis="columns")
        for q, errors in sorted(every.items())
    }


def _tabulate(evidence: Evidence) -> dict[float, pd.DataFrame]:
    """Return for each q the log of the error beyond training: a row for each seed, a column for each -p, in order."""
    columns: dict[float, dict[float, pd.Series]] = {}
    for name in evidence.names:
        if evidence.records[name]:
            config = cast(NumbersRun, evidence.config(name))
            errors = logarithms(evidence.beyond(name)).mean(axis="columns", skipna=False)
            columns.setdefault(config.encoding["q"], {})[-config.outrep["p"]] = errors
    return {q: pd.DataFrame(errors).sort_index(axis="columns") for q, errors in columns.items()}


def _find_minimum(errors: pd.Series) -> float:
    """Return the minimum of the parabola through the least of ``errors`` and its neighbours.

    The parabola is in the logarithm of the index. NaN for fewer than three values that are not NaN.
    """
    known = errors.dropna()
    if len(known) < FEWEST:
        return float("nan")
    least, x, y = int(known.argmin()), np.log(known.index.to_numpy(dtype=float)), known.to_numpy()
    if 0 < least < len(x) - 1:
        slopes, middles = np.diff(y) / np.diff(x), (x[:-1] + x[1:]) / 2  # the slopes of the parabola there
        (falling, rising), (left, right) = slopes[least - 1 : least + 1], middles[least - 1 : least + 1]
        if rising > falling:  # otherwise the three errors are equal
            return float(np.exp(left - falling * (right - left) / (rising - falling)))
    return float(known.index[least])


def _check(evidence: Evidence, what: str, values: pd.Series, low: float = -np.inf, high: float = np.inf) -> Check:
    """Return a check on the seeds with a value; it is not tested if these are fewer than half."""
    config = cast(NumbersRun, evidence.config(evidence.names[0]))
    layers = f", {config.model['depth']} layers" if config.model["depth"] > 1 else ""
    model = f"{plain_label(config.encoding['inner']['name'])}{layers}, {RAISED[config.encoding['raised']]}"
    known = values.dropna()
    few = f"fewer than {FEWEST} powers fit under {len(values) - len(known)} of {len(values)} seeds"
    untested = few if 2 * len(known) < len(values) else ""
    return Check(f"{model}, {what}", known.to_numpy(), low, high, untested=untested)


def _check_powers(evidence: Evidence) -> list[Check]:
    """Check that the best power is -q, for each q.

    At q = 1 no logit is raised, so that models with both raised are those with BOS raised, which are checked.
    """
    raises_both = cast(NumbersRun, evidence.config(evidence.names[0])).encoding["raised"] == "both"
    return [
        _check(evidence, f"q = {q:g}: log2 of best power / -q", (best / q).map(math.log2), -HALF, HALF)
        for q, best in find_best_powers(evidence).items()
        if not (raises_both and q == 1)
    ]


CLAIMS.claim(
    "power",
    where="the lab's account: results, why 1/x is easy",
    statement="If the weight is made to fall as k^-q, the best power is -q (the lab's explanation of 1/x).",
    quantity="best power: of the maps x^p that with the least geometric mean error beyond training, under each "
    "seed, among runs that fit, interpolated by a parabola in log(-p); log2 of its ratio to -q",
    why="within 1/2 is nearer to -q than to the power predicted for the next q, which is 1 away; a best power of -1 "
    "for every q is 1 away from the prediction at q = 1/2 and at q = 2, and refutes the account",
)(_check_powers)
