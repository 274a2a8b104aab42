"""The paper's message: which models track states at four and at ten times the training length."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from experiments.committed_verdicts import RUNS, read_tables
from experiments.eigenvalues.scores import by_arm
from experiments.messages import new_figure
from experiments.sequences.checks import LEAST_FIT
from synthlab.analysis.plotting import add_legend, draw_cells

LABELS = {  # of arms, in the order of the picture
    "lstm": "LSTM",
    "gru": "GRU",
    "delta negative": "DeltaNet, (-1, 1)",
    "delta": "DeltaNet, (0, 1)",
    "mamba negative": "Mamba, (-1, 1)",
    "mamba": "Mamba, (0, 1)",
    "nope": "Transformer, NoPE",
    "rope": "Transformer, RoPE",
    "alibi": "Transformer, ALiBi",
    "fox": "Transformer, FoX",
}
TASKS = ("parity", "even_pairs", "cycle_navigation", "modular_arithmetic")  # also the names of their studies
NOTE = (
    "Scaled accuracy in % (0: chance) at about so many times the training length, median over seeds. Published: best "
    "of three runs, to 6.4 times; its Transformer's encoding is not known. Hatched: under half of the runs here "
    "learned the training lengths."
)


def read_published() -> dict[tuple[str, str], float]:
    """Return the published scaled accuracy by task and arm."""
    published: Any = OmegaConf.load(Path(__file__).with_name("published.yaml"))
    return {(each.task, each.arm): each.value for each in published.numbers}


def read_runs(folder: Path) -> pd.DataFrame | None:
    """Return the runs of all tasks whose study has been committed; None without any."""
    tables = read_tables(folder / RUNS)
    found = [tables[name] for name in TASKS if name in tables] or [
        tables[name] for name in ("quick",) if name in tables
    ]
    return pd.concat(found, ignore_index=True) if found else None


def draw(folder: Path) -> Figure | None:
    """Draw a matrix of models by lengths for each task."""
    runs = read_runs(folder)
    if runs is None:
        return None
    published, table = read_published(), by_arm(runs)
    tasks = list(dict.fromkeys(table["task"]))
    arms = [arm for arm in LABELS if arm in set(table["arm"])]
    figure = new_figure(0.6 + 0.22 * len(arms))
    for axes, task in zip(figure.subplots(1, len(tasks), sharey=True, squeeze=False).flat, tasks, strict=True):
        of_task = table[(table["task"] == task) & table["arm"].isin(arms)]
        medians = of_task.pivot(index="arm", columns="last", values="median").reindex(arms)
        fit = (of_task["fit"] / of_task["runs"]).groupby(of_task["arm"]).max().reindex(arms).to_numpy()
        shown = medians.iloc[:, 2:]  # without the training lengths and twice these
        theirs = np.array([[published.get((task, arm), np.nan)] for arm in arms])
        values = np.hstack((theirs, shown.to_numpy()))
        texts = [["" if np.isnan(value) else f"{100 * value:.0f}" for value in row] for row in values]
        unfit = np.zeros_like(values, dtype=bool)
        unfit[:, 1:] = (fit < LEAST_FIT)[:, None]
        train_length = runs["train_length"].iloc[0]
        columns = ["published", *(f"{last / train_length:g}x" for last in shown.columns)]
        if np.isnan(theirs).all():
            values, texts, unfit, columns = values[:, 1:], [row[1:] for row in texts], unfit[:, 1:], columns[1:]
        draw_cells(axes, values, texts, [LABELS[arm] for arm in arms], columns, "Blues", hatched=unfit)
        axes.set_title(task.replace("_", " "), fontsize="medium")
        if axes is not figure.axes[0]:
            axes.tick_params(labelleft=False)
        axes.spines[:].set_visible(False)
    add_legend(figure, NOTE)
    return figure
