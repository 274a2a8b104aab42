"""The alignment view on sequence tasks: does the output's distribution over lengths predict which generalize?

A model's outputs shift if their mean distribution beyond the training lengths differs from that within
(``synthlab.sequences.outputs``). By the view of Du et al. (2025), one expects that models with a shift generalize
worse. A part of a shift is chance, which grows with the number of symbols of answers and falls with the number of
answers. All encodings on one task and seed share it, since they answer the same sequences; so these are compared.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from experiments.sequences.published import RANGE
from experiments.sequences.ranks import RUN, mean_beyond
from synthlab.analysis.plotting import DataPanel, Drawing
from synthlab.analysis.series import Settings
from synthlab.studies.study import Results
from synthlab.styles import Style

ALIGNMENT = "alignment"


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
    panel = DataPanel(title, Shifts(), found.assign(overrides=overrides), arms)
    return results._replace(panels={**results.panels, ALIGNMENT: panel})


class Shifts(Drawing):
    """The score against the shift of outputs, a point for each run; a colour for each encoding."""

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        for name, rows in drawn.groupby("arm", sort=False):
            style = styles[str(name)]
            look = {"marker": style.marker, "ls": "", "markersize": 4, "mfc": "none", "alpha": 0.7}
            axes.plot(rows["shift"], rows["score"], color=style.colour, label=style.label, **look)
        axes.set_xlabel("shift of outputs")
        axes.set_ylabel("score beyond training")

    def note(self, drawn: pd.DataFrame) -> str:
        count = f"{len(drawn)} runs of {drawn['task'].nunique()} tasks"
        return f"{count}; shift: total variation to the longest training lengths, mean over ranges beyond training"
