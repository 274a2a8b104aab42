"""The paper's message: which tasks generalize, published and here, grouped by what the theory lets expect."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.committed_verdicts import TABLES, read_tables
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_cells
from synthlab.styles import RED

TABLE = "tasks_table"
ARMS = {"learned": "learned, offsets", "nope": "NoPE"}
SIDES = {"published": "published", "median": "here"}
GROUPS = {  # by whether the theory lets a task generalize under each of ARMS
    (True, True): "expected to generalize with both",
    (True, False): "with learned\npositions alone",
    (False, True): "without\npositions alone",
    (False, False): "with neither",
}
NOTE = (
    "Share of right answers in %, in the last range of lengths that the paper reports. Framed: the theory expects "
    "generalization. Hatched: no run here learned the training lengths. Here: median over seeds."
)
LABELS = {  # of tasks and languages whose own names are short for a formula
    "aa_star": "(aa)*",
    "aaaa_star": "(aaaa)*",
    "abab_star": "(abab)*",
    "aabbccddee": "aa*bb*cc*dd*ee*",
    "adbc": "{a,b}*d{b,c}*",
    "zero_two": "{0,1,2}*02*",
    "anbn": "AnBn",
    "anbncn": "AnBnCn",
    "d2": "D_2",
    "d3": "D_3",
    "d4": "D_4",
    "dyck1": "Dyck-1",
    "shuffle2": "Shuffle-2",
    "copy_distinct": "copy, distinct",
    "interleaved_majority": "interleaved majority",
    **{f"tomita{number}": f"Tomita {number}" for number in range(1, 8)},
}


def read_cells(folder: Path) -> pd.DataFrame | None:
    """Return a row for each task and arm, of its last range of lengths; None where the folder has none."""
    table = read_tables(folder / TABLES).get(TABLE)
    if table is None:
        return None
    told = table[table["arm"].isin(ARMS)].sort_values(["published_range", "last"])
    expected = told.groupby(["task", "arm"], sort=False)["expected"].first()
    last = told.groupby(["task", "arm"], sort=False).tail(1).set_index(["task", "arm"])
    order = list(dict.fromkeys(table["task"]))
    cells = last.assign(expected=expected).reset_index()
    return cells.sort_values("task", key=lambda task: task.map(order.index), kind="stable")


def draw(folder: Path) -> Figure | None:
    """Draw the matrix of tasks by encoding."""
    cells = read_cells(folder)
    if cells is None:
        return None
    expected = cells.pivot(index="task", columns="arm", values="expected").reindex(columns=list(ARMS))
    kinds = {str(task): tuple(row) for task, row in expected.eq(True).iterrows()}
    tasks = list(dict.fromkeys(cells["task"]))
    groups = {kind: [task for task in tasks if kinds[task] == kind] for kind in GROUPS}
    groups = {kind: of for kind, of in groups.items() if of}
    figure = new_figure(2.4)
    grid = figure.subplots(1, len(groups), squeeze=False, width_ratios=[len(of) for of in groups.values()])
    for axes, (kind, of) in zip(grid.flat, groups.items(), strict=True):
        _draw_group(axes, cells.set_index(["arm", "task"]), of)
        axes.set_title(GROUPS[kind], fontsize="medium")
        if axes is not grid.flat[0]:
            axes.tick_params(labelleft=False)
    add_legend(figure, NOTE)
    return figure


def _draw_group(axes: Axes, cells: pd.DataFrame, tasks: list[str]) -> None:
    rows = [(arm, side) for arm in ARMS for side in SIDES]
    values = np.array([[cells[side].get((arm, task), np.nan) for task in tasks] for arm, side in rows], dtype=float)
    texts = [["" if np.isnan(value) else f"{100 * value:.0f}" for value in row] for row in values]
    unfit = [[side == "median" and cells["fit"].get((arm, task)) == 0 for task in tasks] for arm, side in rows]
    names = [f"{ARMS[arm]}: {SIDES[side]}" for arm, side in rows]
    draw_cells(axes, values, texts, names, [LABELS.get(task, task) for task in tasks], "Blues", hatched=np.array(unfit))
    for y, (arm, side) in enumerate(rows):
        for x, task in enumerate(tasks):
            if side == "published" and cells["expected"].get((arm, task)):
                axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 1.92, fill=False, ec=RED, lw=1.2, zorder=3))
    axes.axhline(2, color="white", lw=4)
    for label in axes.get_xticklabels():
        label.set(rotation=60, ha="right", rotation_mode="anchor")
    axes.spines[:].set_visible(False)
