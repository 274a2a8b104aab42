"""The papers' message: how far models of each method add, and how far seeds of weights and of data decide it."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_cells

NOTE = (
    "Share of right sums in %, trained on 1 to {trained} digits: median of five runs, least and greatest. Hatched: "
    "fewer than half fit."
)
GRID = "Right: coupled positions, sums of {first:g} to {last:g} digits, each cell a run. Hatched: it does not fit."
LABELS = {  # of arms, in the order of the picture
    "coupled": "coupled",
    "coupled, cyclic": "coupled, cyclic",
    "abacus": "Abacus",
    "rope": "RoPE",
}


def draw(folder: Path) -> Figure | None:
    """Draw the methods by lengths; beside them, if it was trained, the grid of seeds in the last range."""
    tables = read_tables(folder / RUNS)
    runs, grid = tables.get("methods", tables.get("tasks")), tables.get("grid")
    if runs is None:
        return None
    figure = new_figure(1.6)
    note = NOTE.format(trained=runs["train_length"].max())
    if grid is None:
        _draw_methods(figure.subplots(), runs)
    else:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _draw_methods(left, runs)
        last = grid[grid["last"] == grid["last"].max()]
        exact, fit = (last.pivot(index="arm", columns="seed", values=name) for name in ("exact", "fit"))
        unfit = ~fit.to_numpy(dtype=bool)
        texts = [[f"{100 * value:.0f}" for value in row] for row in exact.to_numpy()]
        columns = [f"data {seed}" for seed in exact]
        draw_cells(right, exact.to_numpy(), texts, list(exact.index), columns, "Blues", hatched=unfit)
        note = f"{note} {GRID.format(first=last['first'].iloc[0], last=last['last'].iloc[0])}"
    add_legend(figure, note)
    return figure


def _draw_methods(axes: Axes, runs: pd.DataFrame) -> None:
    arms = [arm for arm in LABELS if arm in set(runs["arm"])]
    by = runs.groupby(["arm", "last"])
    exact = by["exact"].agg(["median", "min", "max"]).mul(100).unstack("last").loc[arms]
    unfit = by["fit"].mean().unstack("last").loc[arms].to_numpy() < 0.5
    median, least, most = (exact[name].to_numpy() for name in ("median", "min", "max"))
    texts = [
        [f"{a:.0f}  [{b:.0f}, {c:.0f}]" for a, b, c in zip(*row, strict=True)]
        for row in zip(median, least, most, strict=True)
    ]
    ranges = runs.drop_duplicates("last").sort_values("last")
    columns = [f"{each['first']:g} to {each['last']:g} digits" for each in ranges.to_dict("records")]
    draw_cells(axes, median / 100, texts, [LABELS[arm] for arm in arms], columns, "Blues", hatched=unfit)
