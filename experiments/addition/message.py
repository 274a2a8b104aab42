"""The papers' message: how far each coupled model adds, and how far seeds of weights and of data decide it."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_cells

NOTE = (
    "Coupled positions, trained on 1 to {trained} digits, a row for each run: share of right sums in %, and of right "
    "digits. Hatched: the run has not learned the training lengths."
)
GRID = "Right: sums of {first:g} to {last:g} digits, each cell a run."


def draw(folder: Path) -> Figure | None:
    """Draw the matrix of runs by lengths; beside it, if it was trained, the grid of seeds in the last range."""
    tables = read_tables(folder / RUNS)
    runs, grid = tables.get("tasks"), tables.get("grid")
    if runs is None:
        return None
    figure = new_figure(1.6)
    note = NOTE.format(trained=runs["train_length"].max())
    if grid is None:
        _draw_runs(figure.subplots(), runs)
    else:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _draw_runs(left, runs)
        last = grid[grid["last"] == grid["last"].max()]
        exact, fit = (last.pivot(index="arm", columns="seed", values=name) for name in ("exact", "fit"))
        unfit = ~fit.to_numpy(dtype=bool)
        texts = [[f"{100 * value:.0f}" for value in row] for row in exact.to_numpy()]
        columns = [f"data {seed}" for seed in exact]
        draw_cells(right, exact.to_numpy(), texts, list(exact.index), columns, "Blues", hatched=unfit)
        note = f"{note} {GRID.format(first=last['first'].iloc[0], last=last['last'].iloc[0])}"
    add_legend(figure, note)
    return figure


def _draw_runs(axes: Axes, runs: pd.DataFrame) -> None:
    exact, tokens, fit = (runs.pivot(index="seed", columns="last", values=name) for name in ("exact", "tokens", "fit"))
    shares = np.stack([100 * exact.to_numpy(), 100 * tokens.to_numpy()], 2)
    texts = [[f"{right:.0f}  (digits {digits:.0f})" for right, digits in row] for row in shares]
    ranges = runs.drop_duplicates("last").sort_values("last")
    columns = [f"{each['first']:g} to {each['last']:g} digits" for each in ranges.to_dict("records")]
    rows = [f"seed {seed}" for seed in exact.index]
    draw_cells(axes, exact.to_numpy(), texts, rows, columns, "Blues", hatched=~fit.to_numpy(dtype=bool))
