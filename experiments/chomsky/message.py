"""The paper's message: what randomized positions gain on each task, by level of the hierarchy."""

from pathlib import Path

from matplotlib.figure import Figure

from experiments.chomsky.scores import LEVELS, by_task, find_pairs, gain, score_runs
from experiments.committed_verdicts import RUNS, read_tables
from experiments.messages import ASIDE, new_figure
from synthlab.analysis.plotting import add_legend, draw_intervals, name_rows
from synthlab.analysis.series import style_of
from synthlab.studies.intervals import median_interval
from synthlab.styles import Style

NOTE = (
    "Gain: accuracy per token beyond the training lengths with randomized positions, less that without. Points: median "
    "over seeds, with its interval. Crosses: best model with randomized positions less best without. Dashed: "
    "published, mean over tasks."
)
BEST = Style("best of all encodings and seeds", "black", "", "x")


def draw(folder: Path, published: float) -> Figure | None:
    """Draw the gain on each task: of each encoding over seeds, and of the best model."""
    runs = read_tables(folder / RUNS).get("tasks")
    if runs is None:
        return None
    table, best = score_runs(runs), by_task(runs).set_index("task")["gain_of_maxima"]
    tasks = [task for task in LEVELS if task in best.index]
    levels = {level: [task for task in tasks if LEVELS[task] == level] for level in dict.fromkeys(LEVELS.values())}
    figure = new_figure(3.9)
    grid = figure.subplots(len(levels), 1, sharex=True, height_ratios=[len(of) for of in levels.values()])
    pairs = find_pairs(table)
    for axes, (level, of) in zip(grid, levels.items(), strict=True):
        for order, arm in enumerate(pairs):
            found, style = gain(table, arm), style_of(arm)
            style = style._replace(label=f"{style.label}, median over seeds")
            for row, task in enumerate(of):
                values = found.xs(task, level="task").dropna()
                y = row + (order - (len(pairs) - 1) / 2) * ASIDE * 2
                low, high, _ = median_interval(values.to_numpy())
                draw_intervals(axes, y, values.median(), low, high, style)
        axes.plot(best[of], range(len(of)), BEST.marker, color=BEST.colour, label=BEST.label, markersize=6)
        axes.axvline(0, color="0.5", lw=0.8)
        axes.axvline(published, color="0.4", lw=1, linestyle="--")
        name_rows(axes, ["square root" if task == "compute_sqrt" else task.replace("_", " ") for task in of])
        axes.set_title(level, loc="left", fontsize="medium")
    grid[-1].set_xlabel("gain by randomized positions")
    add_legend(figure, NOTE)
    return figure
