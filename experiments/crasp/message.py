"""The paper's message: which tasks generalize, published and here, grouped by what the theory lets expect."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.committed_verdicts import TABLES, read_tables
from experiments.messages import QUIET, new_figure
from synthlab.analysis.looks import RED
from synthlab.analysis.names import NAMES, name_task

TABLE = "tasks_table"
ARMS = {"learned": "learned, offsets", "nope": NAMES["nope"]}
SIDES = {"published": "published", "median": "here"}
GROUPS = {  # by whether the theory lets a task generalize under each of ARMS
    (True, True): "expected to generalize with both",
    (True, False): "with learned\npositions alone",
    (False, True): "without\npositions alone",
    (False, False): "with neither",
}
NOTE = (
    "Share of right answers in %, in the last range of lengths that the paper reports. Framed: the theory expects "
    "generalization.\nHatched: no run here learned the training lengths. Here: median over seeds."
)
DARK = 0.55  # from here on the text of a cell is white


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
    figure = new_figure(2.9)
    grid = figure.subplots(1, len(groups), squeeze=False, width_ratios=[len(of) for of in groups.values()])
    for axes, (kind, of) in zip(grid.flat, groups.items(), strict=True):
        _draw_group(axes, cells.set_index(["arm", "task"]), of)
        axes.set_title(GROUPS[kind], fontsize="medium")
        if axes is not grid.flat[0]:
            axes.tick_params(labelleft=False)
    figure.supxlabel(NOTE, fontsize="small", color=QUIET)
    return figure


def _draw_group(axes: Axes, cells: pd.DataFrame, tasks: list[str]) -> None:
    rows = [(arm, side) for arm in ARMS for side in SIDES]
    values = np.array([[cells[side].get((arm, task), np.nan) for task in tasks] for arm, side in rows], dtype=float)
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (y, x), value in np.ndenumerate(values):
        text = "" if np.isnan(value) else f"{100 * value:.0f}"
        colour = "white" if value > DARK else "black"
        arm, side = rows[y]
        key = arm, tasks[x]
        if side == "median" and cells["fit"].get(key) == 0:
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, hatch="////", ec="0.6", lw=0))
            axes.text(x, y, text, ha="center", va="center", fontsize="small", color=QUIET, bbox=PLATE)
        else:
            axes.text(x, y, text, ha="center", va="center", fontsize="small", color=colour)
        if side == "published" and cells["expected"].get(key):
            axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 1.92, fill=False, ec=RED, lw=1.6, zorder=3))
    axes.axhline(1.5, color="white", lw=4)
    axes.set_xticks(range(len(tasks)), [name_task(task) for task in tasks], rotation=60, ha="right", fontsize="small")
    for label in axes.get_xticklabels():
        label.set_rotation_mode("anchor")
    axes.set_yticks(range(len(rows)), [f"{ARMS[arm]}: {SIDES[side]}" for arm, side in rows], fontsize="small")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


PLATE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # behind a number on hatching
