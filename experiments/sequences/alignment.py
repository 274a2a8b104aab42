"""The alignment view on sequence tasks: does the output's distribution over lengths predict which generalize?

A model's outputs shift if their mean distribution beyond the training lengths differs from that within
(``synthlab.sequences.outputs``). By the view of Du et al. (2025), one expects that models with a shift generalize
worse. A part of a shift is chance, which grows with the number of symbols of answers and falls with the number of
answers. All encodings on one task and seed share it, since they answer the same sequences; so these are compared.
"""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes

from experiments.committed_verdicts import CLAIMS
from experiments.correlations import COVERAGE, LEAST_GROUPS, student
from experiments.sequences.published import RANGE
from experiments.sequences.ranks import RUN, mean_beyond
from synthlab.analysis.plotting import Drawing, Drawn
from synthlab.analysis.series import Settings
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate, median_interval
from synthlab.studies.study import Results, Rows
from synthlab.studies.verdicts import Claims
from synthlab.styles import Style

QUANTITIES = {"shift": "outputs shift less", "misfit": "training lengths are fitted better"}
ALIGNMENT = "alignment"
CLAIM_OF = {"A1": "outputs shift less", "A2": "training lengths are fitted better"}
LEVEL = 0.75
APART = 0.1  # the least difference in score that decides which of two generalizes better
ALIKE = 0.01  # the greatest difference in a quantity that counts as none
ALIKE_SCORE = 0.5  # of a pair that is alike


def shifts(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a row for each run: the ``shift`` of its outputs beyond training, its ``score`` and its ``misfit``.

    Beyond training there is also the ``target_shift`` of the right answers; both shifts are means over ranges. The
    ``score`` by ``metric`` is exact match above chance, divided by what is possible above it, or accuracy per token.
    ``misfit`` is the share of wrong answers on training lengths.

    Args:
        runs: A row for each finished run and range of lengths.
        metric: "exact" or "tokens".
    """
    beyond = {name: mean_beyond(runs, name, "sequences") for name in ("shift", "target_shift", metric, "chance")}
    means = pd.DataFrame(beyond).astype(float).rename_axis(RUN)
    within = runs[(runs["last"] <= runs["train_length"]) & (runs[RANGE] == 0)].set_index(RUN)["exact"].astype(float)
    chance = means["chance"].where(means["chance"] < 1) if metric == "exact" else 0.0
    score = (means[metric] - chance) / (1 - chance)
    found = means[["shift", "target_shift"]].assign(misfit=1 - within.reindex(means.index), score=score)
    return found.dropna().reset_index()


def pair_runs(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each two runs of one task and seed whose scores differ by ``APART`` or more.

    Each of ``QUANTITIES`` is 1 if its smaller value belongs to the better run, 0 if to the worse, half if the values
    are ``ALIKE``. ``found`` is what ``shifts`` returns.
    """
    alike = ["task", "seed"]
    rows = [
        {name: one[name] for name in alike} | {name: _score_pair(one, other, name) for name in QUANTITIES}
        for _, together in found.groupby(alike, sort=False)
        for one, other in combinations(together.to_dict("records"), 2)
        if abs(one["score"] - other["score"]) >= APART
    ]
    return pd.DataFrame(rows, columns=[*alike, *QUANTITIES])


def _score_pair(one: dict, other: dict, quantity: str) -> float:
    better, worse = (one, other) if one["score"] > other["score"] else (other, one)
    apart = worse[quantity] - better[quantity]
    return ALIKE_SCORE if abs(apart) <= ALIKE else float(apart > 0)


def with_alignment(
    results: Results, runs: pd.DataFrame, metric: str, overrides: str, arms: Mapping[str, Settings]
) -> Results:
    """Return ``results`` with the panel ``alignment``.

    They are unchanged if no run is tested beyond training. ``arms`` has the settings of each arm.
    """
    found = shifts(runs, metric)
    if found.empty:
        return results
    title = "Does the shift of outputs say which generalize?"
    panel = Drawn(title, Shifts(), found.assign(overrides=overrides), arms)
    return results._replace(panels={**results.panels, ALIGNMENT: panel})


class Shifts(Drawing):
    """The score against the shift of outputs, a point for each run; a colour for each encoding."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        for name, rows in drawn.groupby("arm", sort=False):
            style = styles[str(name)]
            look = {"markersize": 4, "mfc": "none", "alpha": 0.7}
            axes.plot(rows["shift"], rows["score"], style.marker, color=style.colour, label=style.label, **look)
        axes.set_xlabel("shift of outputs")
        axes.set_ylabel("score beyond training")

    def note(self, drawn: pd.DataFrame) -> str:
        count = f"{len(drawn)} runs of {drawn['task'].nunique()} tasks"
        return f"{count}; shift: total variation to the longest training lengths, mean over ranges beyond training"


def alignment_claims(claims: Claims[pd.DataFrame], metric: str = "exact") -> None:
    """Register A1, on the alignment view, and A2, its baseline.

    They are judged on the runs of all tasks together, by their score in ``metric``.
    """
    statements = {
        "A1": (
            "Of two encodings on one task, the one whose distribution of outputs changes less beyond training "
            "generalizes better."
        ),
        "A2": "Of two encodings on one task, the one that fits its training lengths better generalizes better.",
    }
    for (id, statement), quantity in zip(statements.items(), QUANTITIES, strict=True):
        claims.claim(
            id,
            where="ours, on the view of Du et al. (2025), section 3",
            statement=f"(Ours.) {statement}",
            quantity=(
                f"of two encodings whose scores beyond training differ by {APART} or more, how often the better is "
                f"that whose {QUANTITIES[quantity]}: the share of each task, median over tasks, whichever encoding is "
                f"left out, and mean over tasks, over encodings"
            ),
            why="0.75 is ours, half way from chance to always",
        )(lambda runs, quantity=quantity: check_quantity(runs, metric, quantity))


def check_quantity(runs: pd.DataFrame, metric: str, quantity: str) -> list[Check]:
    """Check that on most tasks the smaller ``quantity`` belongs to the encoding that generalizes better.

    It is checked over tasks, whichever encoding is left out, and over encodings. Raises NoEvidence if no two runs
    differ, and if there are too few encodings to leave each of them out.
    """
    found = shifts(runs, metric)
    shares = _shares(found, quantity)
    if not len(shares):
        raise NoEvidence("no two encodings on one task whose scores differ")
    if pair_runs(found)[quantity].eq(ALIKE_SCORE).all():
        raise NoEvidence(f"no two encodings on one task differ in {quantity} by more than {ALIKE}")
    arms = list(found["arm"].unique())
    if len(arms) < LEAST_GROUPS:
        raise NoEvidence(f"needs {LEAST_GROUPS} encodings; has {len(arms)}")
    without = [_shares(found[found["arm"] != arm], quantity) for arm in arms]
    if not all(map(len, without)):
        raise NoEvidence("one encoding is in all pairs whose scores differ")
    intervals = [median_interval(each) for each in (shares, *without)]
    widest = ConfidenceInterval(
        min(each.low for each in intervals),
        max(each.high for each in intervals),
        min(each.coverage for each in intervals),
    )
    over_tasks = GroupEstimate(widest, len(shares), "tasks")
    over_encodings = GroupEstimate(_jackknife(shares.mean(), [each.mean() for each in without]), len(arms), "encodings")
    median = ("median over tasks, whichever encoding is left out", np.median(shares), over_tasks)
    mean = ("mean over tasks, over encodings", shares.mean(), over_encodings)
    return [
        Check(f"share of pairs, {what}", np.array([value]), LEVEL, centre=0.5, estimate=estimate)
        for what, value, estimate in (median, mean)
    ]


def _shares(found: pd.DataFrame, quantity: str) -> Float[np.ndarray, " tasks"]:
    """Return, for each task, the share of its pairs of runs whose better run has the smaller ``quantity``."""
    return pair_runs(found).groupby("task")[quantity].mean().to_numpy(dtype=float)


def _jackknife(value: float, without: list[float]) -> ConfidenceInterval:
    """Return the 95 % interval of a share from its values without each encoding."""
    spread = np.sum((np.array(without) - value) ** 2) * (len(without) - 1) / len(without)
    reach = student(len(without) - 1) * np.sqrt(spread)
    return ConfidenceInterval(max(value - reach, 0.0), min(value + reach, 1.0), COVERAGE)


def tabulate_claims(folder: Path) -> Rows:
    """Return a row for each of A1 and A2 that the committed ``folder`` of a paper judges.

    A row has the share of pairs in which the claim names the better encoding, as an estimate [interval], over tasks and
    over encodings.
    """
    checks, rows = pd.read_csv(folder / CLAIMS), []
    for claim, predictor in CLAIM_OF.items():
        judged = checks[checks["claim"].str.endswith(f".{claim}") & checks["median"].notna()]
        told = {
            f"over {row.of}": f"{row.median:.2f} [{row.low:.2f}, {row.high:.2f}], {row.number:.0f} {row.of}"
            for row in judged.itertuples()
        }
        if told:
            rows.append({"the better encoding is the one whose": predictor, **told})
    return rows
