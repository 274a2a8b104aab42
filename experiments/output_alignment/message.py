"""The paper's message: the error at five times the training length, of plain and of mapped targets."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import TABLES, read_tables
from experiments.messages import add_legend, draw_interval, name_rows, new_figure
from experiments.output_alignment.figures import NumberFigure
from synthlab.analysis.looks import STYLES
from synthlab.analysis.names import NAMES
from synthlab.studies.presentation.heat import UNFIT

FAR = 5  # training lengths
# The panels of figure 1, by the table of each: what it is about, and what its series are.
PANELS = {
    "figure1a": ("mean task, plain target", "encoding"),
    "figure1b": ("length task, plain target", "encoding"),
    "figure1c_plus": (f"length task, {NAMES['nope']}, mapped targets", "map"),
}
HORIZON = "horizonlength"
PLAIN = "identity"
ORDER = (PLAIN, "sqrt", "log", "rlog", "rsqrt", "reciprocal")  # of maps, by how fast they fall
NOTE = (
    "Trained on lengths 1 to {trained}. Left: median over seeds, bar from least to greatest, on two scales. Right: "
    "length up to which the relative\nerror stays under 5 %, median over seeds and, below, least to greatest"
    "{hatched}."
)


def draw(folder: Path) -> Figure | None:
    """Draw the errors of each encoding and map on the left, and the horizon of each pair of them on the right."""
    tables = read_tables(folder / TABLES)
    if not {*PANELS, HORIZON} <= set(tables):
        return None
    far = {key: _select_far(tables[key], of) for key, (_, of) in PANELS.items()}
    horizon = _sort_maps(tables[HORIZON], "outrep")
    figure = new_figure(3.9)
    whole = figure.add_gridspec(len(far), 2, height_ratios=[len(rows) for rows in far.values()])
    upper = None
    for place, (key, rows) in enumerate(far.items()):
        axes = figure.add_subplot(whole[place, 0], sharex=upper if place == 2 else None)
        upper = axes
        for y, row in enumerate(rows.to_dict("records")):
            style = STYLES[row["series"]]._replace(label="_")
            draw_interval(axes, y, row["median"], (row["low"], row["high"]), style)
        axes.set_xscale("log")
        name_rows(axes, [STYLES[name].label for name in rows["series"]])
        axes.set_title(PANELS[key][0], loc="left", fontsize="medium")
        if place == 1:
            axes.tick_params(labelbottom=False)
        axes.grid(axis="x", color="0.9")
    assert upper is not None
    trained = int(tables["figure1b"]["train_length"].max())
    upper.set_xlabel(f"mean squared error at length {FAR * trained}")
    heat = NumberFigure.plots.build({"name": "heat", "rows": "encoding", "columns": "outrep"})
    axes = figure.add_subplot(whole[:, 1])
    heat.draw(axes, horizon)
    _spread_colours(axes, trained, float(horizon["median"].max()))
    _add_ranges(axes, horizon)
    axes.set_title("length task: how far each pair reaches", fontsize="medium")
    axes.tick_params(axis="x", rotation=30)
    hatched = f" ({UNFIT})" if axes.patches else ""
    add_legend(figure, NOTE.format(trained=trained, hatched=hatched))
    return figure


def _spread_colours(axes: Axes, low: float, high: float) -> None:
    """Spread the colours of a heat map from ``low`` to ``high``, with black numbers on light cells."""
    axes.collections[0].set_clim(low, high)
    for number in axes.texts:
        is_light = float(number.get_text().rstrip("+-") or 0) > low + 0.6 * (high - low)
        if number.get_bbox_patch() is None:  # those of hatched cells stay grey
            number.set_color("black" if is_light else "white")


def _add_ranges(axes: Axes, horizon: pd.DataFrame) -> None:
    """Write the least and the greatest value below each number of a heat map, in its colour, where they differ."""
    names = [list(dict.fromkeys(horizon[column])) for column in ("encoding", "outrep")]
    ranges = horizon.set_index(["encoding", "outrep"])[["low", "high"]]
    for number in list(axes.texts):
        x, y = number.get_position()
        pair = names[0][int(y)], names[1][int(x)]
        low, high = ranges.loc[pair] if pair in ranges.index else (0, 0)
        if low < high and number.get_bbox_patch() is None:
            number.set_y(y - 0.13)
            words = f"{low:g} to {high:g}"
            axes.text(x, y + 0.25, words, ha="center", va="center", fontsize=6.5, color=number.get_color())


def _select_far(table: pd.DataFrame, of: str) -> pd.DataFrame:
    """Return the rows at the far length; of maps, without the plain target, which is the row of NoPE above."""
    rows = table[table["length"] == FAR * table["train_length"]]
    return _sort_maps(rows[rows["series"] != PLAIN], "series") if of == "map" else rows


def _sort_maps(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows with the maps in ``ORDER``."""
    return rows.sort_values(column, key=lambda names: names.map(ORDER.index), kind="stable")
