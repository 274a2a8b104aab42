"""The paper's message: which encoding ranks first over its tasks, published and here."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import new_figure
from experiments.sequences.published import Published
from experiments.sequences.ranks import mean_by_seed, reciprocal_ranks, score_beyond, score_published
from synthlab.analysis.plotting import add_legend, draw_intervals, name_rows
from synthlab.analysis.series import style_of
from synthlab.studies.intervals import median_interval
from synthlab.styles import Style

NOTE = (
    "1: best on every task and seed. Published: mean over three seeds. Here: median over {seeds} seeds, with its "
    "interval; equal scores share the mean of their ranks."
)
THEIRS = Style("published", "0.25", "", "D")


def draw(folder: Path, numbers: Published) -> Figure | None:
    """Draw mean reciprocal ranks: over all tasks, and over those of which the paper has runs."""
    runs = read_tables(folder / RUNS).get("tasks")
    if runs is None or numbers.ranks is None:
        return None
    means = pd.Series(numbers.ranks.mean).sort_values(ascending=False)
    arms = [str(arm) for arm in means.index]
    ours, theirs = reciprocal_ranks(score_beyond(runs), arms), score_published(numbers)
    shared = sorted(set(theirs["task"]) & set(ours["task"]))
    figure = new_figure(2.0)
    left, right = figure.subplots(1, 2, sharey=True, sharex=True)
    _draw_ranks(left, arms, ours, means)
    left.set_title(f"all tasks, {ours['task'].nunique()} of them here")
    on_shared = reciprocal_ranks(theirs[theirs["task"].isin(shared)], arms)
    _draw_ranks(right, arms, ours[ours["task"].isin(shared)], mean_by_seed(on_shared).mean())
    right.set_title(f"the {len(shared)} tasks that both have: {', '.join(shared)}")
    for axes in (left, right):
        axes.set_xlabel("mean reciprocal rank")
        axes.set_xlim(0, 1)
    add_legend(figure, NOTE.format(seeds=ours["seed"].nunique()))
    return figure


def _draw_ranks(axes: Axes, arms: list[str], ours: pd.DataFrame, theirs: pd.Series) -> None:
    by_seed = mean_by_seed(ours)
    for y, arm in enumerate(arms):
        low, high, _ = median_interval(by_seed[arm].to_numpy())
        here = style_of(str(arm))._replace(label="here" if y == 0 else "_")
        draw_intervals(axes, y, by_seed[arm].median(), low, high, here, width=2.2)
        axes.plot(theirs[arm], y, THEIRS.marker, mfc="none", color=THEIRS.colour, markersize=8, label=THEIRS.label)
    name_rows(axes, [style_of(str(arm)).label for arm in arms])
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
