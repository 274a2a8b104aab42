"""The papers' message: the weight on the right item by length, beside the share of right answers."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_lines
from synthlab.analysis.tables import aggregate_seeds
from synthlab.styles import BLUE, DASHES, DOTS, GREEN, LAVENDER, ORANGE, Style

TITLES = {"greatest": "the greatest number", "number": "the number asked for"}
VALUES = {"weight": "weight on the right item", "exact": "right answers"}
STYLES = {
    "softmax": Style("softmax", BLUE, "-", "o"),
    "log n": Style("log n", ORANGE, DASHES, "s"),
    "SSMax": Style("SSMax", LAVENDER, "-", "^"),
    "threshold": Style("threshold", GREEN, DOTS, "v"),
}
NOTE = (
    "Trained to 16 items. Weights at the length itself; right answers in the range of lengths that ends there, the "
    "first being the training lengths. Median over {seeds} seeds, with the range of all."
)


def draw(folder: Path) -> Figure | None:
    """Draw a panel for each task and value."""
    runs = read_tables(folder / RUNS).get("tasks")
    if runs is None:
        return None
    tasks = [task for task in TITLES if task in set(runs["task"])]
    figure = new_figure(2.0 * len(VALUES))
    grid = figure.subplots(len(VALUES), len(tasks), sharex=True, sharey="row", squeeze=False)
    for row, (value, label) in zip(grid, VALUES.items(), strict=True):
        for axes, task in zip(row, tasks, strict=True):
            _draw_panel(axes, runs[runs["task"] == task], value)
        row[0].set_ylabel(label)
    for axes, task in zip(grid[0], tasks, strict=True):
        axes.set_title(TITLES[task], fontsize="medium")
    for axes in grid[-1]:
        axes.set_xlabel("items")
    add_legend(figure, NOTE.format(seeds=runs["seed"].nunique()))
    return figure


def _draw_panel(axes: Axes, runs: pd.DataFrame, value: str) -> None:
    drawn = aggregate_seeds(runs.assign(series=runs["arm"]), ["series", "last"], value)
    draw_lines(axes, drawn, "last", STYLES, scale="linear")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(runs["last"].unique()), [f"{last:g}" for last in sorted(runs["last"].unique())])
    axes.set_ylim(-0.03, 1.03)
    axes.grid(axis="y", color="0.9")
