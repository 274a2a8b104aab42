"""Records together: one table, a short summary, a plot."""

import os
import warnings
from typing import TYPE_CHECKING

import pandas as pd

from synthlab.analysis import tables
from synthlab.analysis.collection import Collection
from synthlab.analysis.conditions import Where
from synthlab.storage.records import Record
from synthlab.storage.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Records(list[Record]):
    """Records in a row: they print as a table, and ``plot`` draws them."""

    def table(self) -> pd.DataFrame:
        """One tidy table: a row for each run and test length, columns for the config and the metrics. A diverged run
        has a single row, without length."""
        return tables.table(self)

    def summary(self) -> pd.DataFrame:
        """Mean squared error at a few lengths (rows) for each series (columns): the median over seeds."""
        return tables.summary(self)

    def plot(self, metric: str = "mse", path: str | os.PathLike[str] | None = None) -> "Figure":
        """``metric`` against test length, a curve for each config: median over seeds, band from least to greatest.

        Saved to ``path`` where one is given (the suffix decides the format). Raises InputError for an unknown metric,
        or where no run is finished.
        """
        from synthlab.analysis.curves import plot_table  # matplotlib is loaded when something is drawn

        return plot_table(self.table(), metric, path)

    def __repr__(self) -> str:
        return tables.render(self)

    def _repr_html_(self) -> str:
        return self.summary().to_html()


def load_records(results: str | os.PathLike[str] = "results", where: Where = None) -> pd.DataFrame:
    """One tidy table over the runs below ``results``: a row for each run and test length, as ``Records.table`` has it;
    a diverged or failed run has a single row, without length.

    ``where`` chooses runs and rows: ``"task=length,sum train_length>=20"``, several such texts, or a mapping such as
    ``{"task": ["length", "sum"], "seed": 0}``. Damaged records are left out, with a warning that names them. Raises
    InputError for a condition that cannot be read, or on a column that no run has.
    """
    collection = Collection(Store(results), where)
    table = collection.table()
    if collection.damaged:
        found = "; ".join(collection.damaged.values())
        warnings.warn(f"{len(collection.damaged)} damaged records are left out: {found}", stacklevel=2)
    return table
