"""The paper's message: the error at five times the training length, of plain and of mapped targets."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import TABLES, read_tables
from experiments.messages import new_figure
from synthlab.analysis.plotting import add_legend, draw_cells, draw_intervals, name_rows
from synthlab.analysis.series import style_of
from synthlab.studies.plots import UNFIT, find_unfit

FAR = 5  # training lengths
# The panels of figure 1, by the table of each: what it is about, and what its series are.
PANELS = {
    "figure1a": ("mean task, plain target", "encoding"),
    "figure1b": ("length task, plain target", "encoding"),
    "figure1c_plus": ("length task, NoPE, mapped targets", "map"),
}
HORIZON = "horizonlength"
PLAIN = "identity"
ORDER = (PLAIN, "sqrt", "log", "rlog", "rsqrt", "reciprocal")  # of maps, by how fast they fall
NOTE = (
    "Trained on lengths 1 to {trained}. Left: median over seeds, bar from least to greatest, on two scales; dashed, "
    "always the mean of the training answers. Right: "
    "length up to which the relative error stays under 5 %, median over seeds and, below, least to greatest"
    "{hatched}."
)


def draw(folder: Path) -> Figure | None:
    """Draw the errors of each encoding and map on the left, and the horizon of each pair of them on the right."""
    tables = read_tables(folder / TABLES)
    if not {*PANELS, HORIZON} <= set(tables):
        return None
    far = {key: _select_far(tables[key], of) for key, (_, of) in PANELS.items()}
    horizon = _sort_maps(tables[HORIZON], "outrep")
    figure = new_figure(3.4)
    whole = figure.add_gridspec(len(far), 2, height_ratios=[len(rows) for rows in far.values()])
    upper = None
    trained = int(tables["figure1b"]["train_length"].max())
    for place, (key, rows) in enumerate(far.items()):
        axes = figure.add_subplot(whole[place, 0], sharex=upper if place == 2 else None)
        upper = axes
        for y, row in enumerate(rows.to_dict("records")):
            style = style_of(row["series"])._replace(label="_")
            draw_intervals(axes, y, row["median"], row["low"], row["high"], style)
        axes.set_xscale("log")
        axes.axvline(_chance(key, FAR * trained, trained), color="0.4", lw=1, ls=(0, (4, 3)))
        name_rows(axes, [style_of(name).label for name in rows["series"]])
        axes.set_title(PANELS[key][0], loc="left", fontsize="medium")
        if place == 1:
            axes.tick_params(labelbottom=False)
        axes.grid(axis="x", color="0.9")
    assert upper is not None
    upper.set_xlabel(f"mean squared error at length {FAR * trained}")
    axes = figure.add_subplot(whole[:, 1])
    _draw_horizons(axes, horizon, trained)
    axes.set_title("length task: how far each pair reaches", fontsize="medium")
    axes.tick_params(axis="x", rotation=30)
    hatched = f" ({UNFIT})" if find_unfit(horizon).any() else ""
    add_legend(figure, NOTE.format(trained=trained, hatched=hatched))
    return figure


def _chance(panel: str, length: int, trained: int) -> float:
    """Return the squared error at a length of always answering the mean of the training answers: 1/2, or a length."""
    return 0.25 / length if panel == "figure1a" else (length - (1 + trained) / 2) ** 2


def _draw_horizons(axes: Axes, horizon: pd.DataFrame, trained: int) -> None:
    """Draw the horizon of each encoding and map, with the least and the greatest below where they differ."""
    longest, unfit = horizon["test_length"].max(), find_unfit(horizon)
    numbers = (horizon[name] for name in ("median", "low", "high"))
    texts = []
    for median, low, high, hatched in zip(*numbers, unfit, strict=True):
        plus = "+" if median == longest else ""
        texts.append(f"{median:g}{plus}" if low == high or hatched else f"{median:g}{plus}\n{low:g} to {high:g}")
    pairs = horizon.assign(text=texts, unfit=unfit).pivot(index="encoding", columns="outrep")
    rows, columns = (list(dict.fromkeys(horizon[name])) for name in ("encoding", "outrep"))
    values, texts, hatched = (pairs[name].loc[rows, columns] for name in ("median", "text", "unfit"))
    draw_cells(
        axes,
        values.to_numpy(dtype=float),
        texts.fillna("-").to_numpy(),
        [style_of(name).label for name in rows],
        [style_of(name).label for name in columns],
        limits=(trained, float(horizon["median"].max())),
        hatched=hatched.eq(True).to_numpy(),
    )


def _select_far(table: pd.DataFrame, of: str) -> pd.DataFrame:
    """Return the rows at the far length; of maps, without the plain target, which is the row of NoPE above."""
    rows = table[table["length"] == FAR * table["train_length"]]
    return _sort_maps(rows[rows["series"] != PLAIN], "series") if of == "map" else rows


def _sort_maps(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows with the maps in ``ORDER``."""
    return rows.sort_values(column, key=lambda names: names.map(ORDER.index), kind="stable")
