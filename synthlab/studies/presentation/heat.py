"""Heat maps: a table of numbers on colours."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from synthlab.analysis.curves import seeds_note
from synthlab.analysis.names import name_series
from synthlab.analysis.tables import aggregate_seeds, make_table
from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.studies.presentation.drawing import Plot

UNFIT = "hatched: no run fits"
QUIET = "0.35"  # the grey of a number on hatching


class Heat(Plot):
    """The horizon as a table of ``rows`` and ``columns``, two settings of the panel's grid: numbers on colours.

    A cell without a run that fits is hatched: its number says nothing of models that have learned the task.
    """

    height = 0.8
    measures = value = "horizon"  # ``value`` is the column of ``numbers`` that is shown

    def __init__(self, rows: str, columns: str):
        self.rows, self.columns = rows, columns

    def numbers(self, records: Sequence[Record]) -> pd.DataFrame:
        """Return one or more rows for each run, with its ``id`` and the column ``value``, NaN if it has none."""
        return make_table(records)

    def find_greatest(self, drawn: pd.DataFrame) -> float:
        """Return the number with the lightest colour; 0 has the darkest."""
        return float(drawn["test_length"].max())

    def text(self, value: float, drawn: pd.DataFrame) -> str:
        """Return a number as text."""
        longest = drawn["test_length"].max()
        return f"{longest}+" if value == longest else f"{value:g}"

    def note(self, drawn):
        longest = drawn["test_length"].max()
        return (
            f"horizon: length up to which the relative error stays under 5 % ({longest}+: to the longest tested); "
            f"{seeds_note(drawn)}; trained on lengths up to {drawn['train_length'].max()}"
            f"{f'; {UNFIT}' if _unfit(drawn).any() else ''}"
        )

    def check(self, chosen, test_length):
        for series in chosen:
            if set(series) != {self.rows, self.columns} or self.rows == self.columns:
                given = ", ".join(series)
                raise InputError(f"rows={self.rows} columns={self.columns}: must be the two settings in vary ({given})")

    def data(self, series, metric):
        keys = [self.rows, self.columns]
        parts = [
            one.count_runs(self.numbers(one.records)).assign(**{key: str(one.chosen[key]) for key in keys})
            for one in series
        ]
        runs = pd.concat(parts).drop_duplicates("id").dropna(subset=[self.value])
        if runs.empty:
            return runs
        order = {key: list(dict.fromkeys(runs[key])) for key in keys}
        drawn = aggregate_seeds(runs, keys, self.value).sort_values(
            keys, key=lambda names: names.map(order[str(names.name)].index)
        )
        return drawn.reset_index(drop=True).assign(test_length=int(runs["test_length"].max()))

    def paint(self, axes, drawn, styles):
        rows, columns = (list(dict.fromkeys(drawn[key])) for key in (self.rows, self.columns))
        numbers = drawn.pivot(index=self.rows, columns=self.columns, values="median").loc[rows, columns].to_numpy()
        unfit = drawn.assign(unfit=_unfit(drawn)).pivot(index=self.rows, columns=self.columns, values="unfit")
        unfit = unfit.loc[rows, columns].eq(True).to_numpy()
        greatest = self.find_greatest(drawn)
        axes.pcolormesh(numbers, cmap="cividis", vmin=0, vmax=greatest, edgecolors="white", lw=1)
        for (i, j), value in np.ndenumerate(numbers):
            text = "-" if np.isnan(value) else self.text(value, drawn)
            colour, plate = "black" if value > 0.6 * greatest or np.isnan(value) else "white", None
            if unfit[i, j]:
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor="0.95", hatch="////", edgecolor="0.7", lw=0))
                colour, plate = QUIET, {"facecolor": "0.95", "edgecolor": "none", "pad": 0.6}
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=colour, bbox=plate)
        for axis, names in ((axes.xaxis, columns), (axes.yaxis, rows)):
            labels = [name_series(str(name)) for name in names]
            axis.set_ticks([k + 0.5 for k in range(len(names))], labels, fontsize="small")
        axes.tick_params(length=0)
        axes.invert_yaxis()


def _unfit(drawn: pd.DataFrame) -> pd.Series:
    """Return which rows have runs of which none fits; none does not if fitting is not defined."""
    return drawn["fit"].eq(0) if "fit" in drawn else pd.Series(False, index=drawn.index)
