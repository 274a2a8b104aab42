"""The alignment view on these tasks: does the output's distribution over lengths say which of them generalize?

A model's outputs shift if their mean distribution beyond the training lengths is another than within
(``synthlab.sequences.outputs``). The view of Du et al. (2025) lets expect that where they do, models generalize worse.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.sequences.ranks import RUN, mean_beyond
from synthlab.analysis.curves import style_of
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.presentation.drawing import Drawing
from synthlab.studies.presentation.figure_files import Drawn
from synthlab.studies.study import Results
from synthlab.studies.verdicts import Claims

SHIFTS = {
    "shift": "outputs shift less",
    "target_shift": "right answers shift less",
    "excess": "outputs shift more as right answers do",
}
WHICH = {"task": "tasks under one encoding", "arm": "encodings on one task"}  # what pairs of runs differ by
ASKED = (("shift", "task"), ("target_shift", "task"), ("shift", "arm"), ("excess", "task"), ("excess", "arm"))
ALIGNMENT = "alignment"
LEVEL = 0.75
APART = 0.1  # the least difference that says which of two generalizes better


def shifts(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each run: beyond the training lengths, all of which count alike, the ``shift`` of its outputs, the
    ``target_shift`` of the right answers, by how much these differ, ``excess``, and ``above``, by how much its exact
    match is above chance, of what is possible above it.

    Args:
        runs: A row for each finished run and range of lengths.
    """
    weighted = runs.assign(lengths=runs["last"] - runs["first"] + 1)
    names = ("shift", "target_shift", "exact", "chance")
    means = {name: mean_beyond(weighted, name, "lengths") for name in names}
    found = pd.DataFrame(means).astype(float).rename_axis(RUN).reset_index()
    possible = (1 - found["chance"]).where(found["chance"] < 1)
    above, excess = (found["exact"] - found["chance"]) / possible, (found["shift"] - found["target_shift"]).abs()
    return found.assign(excess=excess, above=above).drop(columns=["exact", "chance"])


def concordance(found: pd.DataFrame, shift: str, between: str) -> pd.Series:
    """For each seed the share of pairs of which the one with the smaller ``shift`` is further above chance: pairs of
    runs that differ by ``between``, "task" or "arm", alone. Pairs less than ``APART`` apart are left out, equal shifts
    count half. 0.5 is chance; a seed without such pairs is left out.

    Args:
        found: What ``shifts`` returns.
    """
    alike = [name for name in RUN if name != between]
    pairs = [
        (seed, _says(one, other, shift))
        for (*_, seed), rows in found.dropna().sort_values(RUN).groupby([*sorted(set(alike) - {"seed"}), "seed"])
        for one, other in combinations(rows.to_dict("records"), 2)
        if abs(one["above"] - other["above"]) >= APART
    ]
    return pd.DataFrame(pairs, columns=["seed", "says"]).groupby("seed")["says"].mean()


def _says(one: dict, other: dict, shift: str) -> float:
    better, worse = (one, other) if one["above"] > other["above"] else (other, one)
    return (1 + np.sign(worse[shift] - better[shift])) / 2


def with_alignment(results: Results, runs: pd.DataFrame, overrides: str) -> Results:
    """``results``, and what shifts say: a panel ``alignment`` and lines for a terminal. Without them where no run is
    tested beyond training."""
    found = shifts(runs)
    if found.empty:
        return results
    title = "Does the shift of outputs say which generalize?"
    return results._replace(
        panels={**results.panels, ALIGNMENT: Drawn(title, Shifts(), found.assign(overrides=overrides))},
        lines=[*results.lines, *_told(found)],
    )


def _told(found: pd.DataFrame) -> list[str]:
    lines = []
    for shift, between in ASKED:
        values = concordance(found, shift, between)
        if len(values):
            share = f"{values.median():.2f} ({values.min():.2f} to {values.max():.2f})"
            which = f"of two {WHICH[between]} that whose {SHIFTS[shift]} generalizes better"
            lines.append(f"{which}: {share}; chance 0.50")
    return lines


class Shifts(Drawing):
    """Exact match above chance against the shift of outputs, a point for each run; a colour for each encoding."""

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        for name, style in style_of(list(dict.fromkeys(drawn["arm"]))).items():
            rows = drawn[drawn["arm"] == name]
            marks = {"marker": style.marker, "color": style.colour, "label": style.label}
            axes.plot(rows["shift"], rows["above"], **marks, ls="", mfc="none", ms=4, alpha=0.7)
        axes.set_xlabel("shift of outputs")
        axes.set_ylabel("exact match above chance")
        axes.legend(fontsize="x-small")

    def note(self, drawn: pd.DataFrame) -> str:
        count = f"{len(drawn)} runs of {drawn['task'].nunique()} tasks"
        return f"{count}; beyond training, mean over lengths; shift: total variation to training lengths"


def alignment_claims(claims: Claims[pd.DataFrame]) -> None:
    """Register the claims on the alignment view, A1 to A4. They are judged on the runs of all tasks together."""

    def register(id: str, statement: str, *asked: tuple[str, str]) -> None:
        claims.claim(
            id,
            where="ours, on the view of Du et al. (2025), section 3",
            statement=f"(Ours.) {statement}",
            quantity=(
                f"of pairs whose exact match above chance differs by {APART} or more beyond training, the share in "
                f"which the one has more whose {SHIFTS[asked[0][0]]}"
            ),
            why="0.75 is ours, half way from chance to always; of these tasks alone, since seeds are the witnesses",
        )(lambda runs: [says(runs, shift, between) for shift, between in asked])

    register("A1", "Of two tasks that whose outputs shift less beyond training generalizes better.", ASKED[0])
    register("A2", "Of two tasks that whose right answers shift less generalizes better.", ASKED[1])
    register("A3", "Of two encodings on one task that whose outputs shift less generalizes better.", ASKED[2])
    register(
        "A4",
        "Of two tasks, and of two encodings, that whose outputs shift more as right answers do generalizes better.",
        *ASKED[3:],
    )


def says(runs: pd.DataFrame, shift: str, between: str) -> Check:
    """That of two runs which differ by ``between`` alone the smaller ``shift`` says which generalizes better. Raises
    NoEvidence where no two do."""
    values = concordance(shifts(runs), shift, between)
    if values.empty:
        raise NoEvidence(f"no two runs of one seed that differ by their {between} and in exact match")
    return Check(f"two {WHICH[between]}: share of pairs", values.to_numpy(), low=LEVEL, centre=0.5)
