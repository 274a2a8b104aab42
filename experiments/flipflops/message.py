"""The message: how much each encoding errs on flip-flops of other densities and lengths."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.flipflops.scores import by_arm
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_cells

LABELS = {  # of arms, in the order of the picture
    "threshold": "TRA, two layers",
    "fox": "FoX, two layers",
    "nope": "NoPE, two layers",
    "rope": "RoPE, two layers",
    "alibi": "ALiBi, two layers",
    "fox one layer": "FoX, one layer",
    "rope one layer": "RoPE, one layer",
    "lstm": "LSTM, one layer",
}
TESTS = {"longer": "as in training", "sparse": "sparse", "dense": "dense"}
NOTE = (
    "Share of wrong answers in %, at the training lengths (1x) and in the last range up to so many times these; median "
    "over seeds. Hatched: no model learned the training lengths."
)


def read_runs(folder: Path) -> pd.DataFrame | None:
    """Return the committed runs of the study tasks, else of quick; None without either."""
    tables = read_tables(folder / RUNS)
    return tables.get("tasks", tables.get("quick"))


def draw(folder: Path) -> Figure | None:
    """Draw a matrix of models by lengths for each test."""
    runs = read_runs(folder)
    if runs is None:
        return None
    table = by_arm(runs)
    arms = [arm for arm in LABELS if arm in set(table["arm"])]
    figure = new_figure(0.7 + 0.22 * len(arms))
    for axes, (test, title) in zip(figure.subplots(1, len(TESTS), sharey=True), TESTS.items(), strict=True):
        of_test = table[table["task"] == test]
        medians = of_test.pivot(index="arm", columns="last", values="median").reindex(arms)
        values = medians.to_numpy()
        fit = of_test.groupby("arm")["fit"].max().reindex(arms).to_numpy()
        texts = [[f"{100 * value:.1f}" if value < 0.1 else f"{100 * value:.0f}" for value in row] for row in values]
        columns = [f"{last / runs['train_length'].iloc[0]:g}x" for last in medians.columns]
        hatched = np.repeat((fit == 0)[:, None], values.shape[1], axis=1)
        names = [LABELS[arm] for arm in arms]
        draw_cells(axes, values, texts, names, columns, "Reds", (0.0, 0.5), hatched=hatched)
        axes.set_title(title, fontsize="medium")
        if test != "longer":
            axes.tick_params(labelleft=False)
        axes.spines[:].set_visible(False)
    add_legend(figure, NOTE)
    return figure
