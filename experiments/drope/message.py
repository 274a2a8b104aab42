"""The papers' message: the loss within the window and at two, four and eight windows, by what becomes of positions."""

from pathlib import Path

from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import ASIDE, new_figure
from synthlab.analysis.plotting import add_legend, draw_intervals, name_rows
from synthlab.studies.intervals import median_interval
from synthlab.styles import BLUE, GREEN, ORANGE, RED, Style

REACHES = {
    "loss_1x": Style("within the window", BLUE, "-", "o"),
    "loss_2x": Style("1 to 2 windows", GREEN, "-", "s"),
    "loss_4x": Style("3 to 4 windows", ORANGE, "-", "^"),
    "loss_8x": Style("7 to 8 windows", RED, "-", "D"),
}
NOTE = "Loss of text after as many tokens. Median over {seeds} seeds, with its interval. Equal steps for all."


def draw(folder: Path) -> Figure | None:
    """Draw a row for each arm, the best at eight windows first."""
    runs = read_tables(folder / RUNS).get("text")
    if runs is None:
        return None
    arms = [str(arm) for arm in runs.groupby("arm")["loss_8x"].median().sort_values().index]
    figure = new_figure(0.3 * len(arms) + 0.8)
    axes = figure.subplots()
    for order, (quantity, style) in enumerate(REACHES.items()):
        for row, arm in enumerate(arms):
            values = runs.loc[runs["arm"] == arm, quantity]
            low, high, _ = median_interval(values.to_numpy())
            draw_intervals(axes, row + (order - 1.5) * ASIDE, values.median(), low, high, style)
    name_rows(axes, arms)
    axes.set_xlabel("cross-entropy, nats")
    axes.grid(axis="x", color="0.9")
    add_legend(figure, NOTE.format(seeds=runs["seed"].nunique()))
    return figure
