"""A drawing of a table of predictors and outcomes: a cell for each pair, with a number and its interval."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from synthlab.studies.presentation.drawing import Drawing

DARK = 0.6  # from here on a cell's text is white


class Cells(Drawing):
    """A row for each predictor, a column for each outcome. A cell has the column ``value``, its interval ``ends`` if it
    is known, and the value's colour, which is darkest from 1 on; it is bold where the interval leaves out 0."""

    def __init__(self, value: str, ends: tuple[str, str], note: str):
        self.value, self.ends, self.told = value, ends, note

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        rows, columns = (list(dict.fromkeys(drawn[name])) for name in ("predictor", "outcome"))
        values = drawn.pivot(index="predictor", columns="outcome", values=self.value).loc[rows, columns]
        axes.imshow(values.to_numpy(dtype=float), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for row in drawn.to_dict("records"):
            self._write(axes, columns.index(row["outcome"]), rows.index(row["predictor"]), row)
        _label(axes, rows, columns)

    def note(self, drawn: pd.DataFrame) -> str:
        return self.told

    def _write(self, axes: Axes, x: int, y: int, row: dict) -> None:
        value, low, high = (row[name] for name in (self.value, *self.ends))
        axes.text(
            x,
            y,
            _told(value, low, high),
            ha="center",
            va="center",
            fontsize="xx-small",
            color="white" if abs(value) > DARK else "black",
            fontweight="bold" if low > 0 or high < 0 else "normal",
        )


def _told(value: float, low: float, high: float) -> str:
    if value != value:
        return "not known"
    return f"{value:.2f}\n[{low:.2f}, {high:.2f}]" if low <= high else f"{value:.2f}"


def _label(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """The names of rows and columns, which are those of the runs' table, one word a line."""
    axes.set_yticks(range(len(rows)), [_lines(name) for name in rows], fontsize="xx-small")
    axes.set_xticks(range(len(columns)), [_lines(name) for name in columns], fontsize="xx-small")
    axes.tick_params(which="both", length=0)
    axes.set_ylabel("within the training length")
    axes.set_xlabel("beyond it")
    axes.grid(visible=False)


def _lines(name: str) -> str:
    return name.replace("_", "\n", 1)
