"""Lists of records: one table, a short summary, a plot."""

import os
import warnings
from typing import TYPE_CHECKING

import pandas as pd

from synthlab.analysis import printing, tables
from synthlab.analysis.collection import Collection
from synthlab.analysis.conditions import Where
from synthlab.output import save_picture
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.styles import RC

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Records(list[Record]):
    """A list of ``Record``: it prints as a table of metrics by length, and ``plot`` plots it.

    Example:
        >>> import synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> records = synthlab.run(task="mean", seeds=3, test_length=12, protocol=short, progress=False)
        >>> len(records.table())  # 3 seeds, 12 test lengths
        36
        >>> list(records.summary().index)
        [1, 5, 10, 12]
    """

    def table(self) -> pd.DataFrame:
        """Return one tidy table.

        Returns:
            A row for each run and test length; a diverged run has a single row, without length. The columns are ``id``,
            ``family``, ``status``, ``weights`` (True if they were saved), the config (``task``, ``encoding``,
            ``model.width``, ``seed``, ...), ``length``, the metrics (``mse`` and others for numbers, ``exact`` and
            others for sequence tasks, ``loss`` and others for languages) and ``horizon``.
        """
        return tables.make_table(self)

    def curves(self) -> pd.DataFrame:
        """Return the training curves as one tidy table.

        Returns:
            A row for each finished run and point of its curve, with the columns of ``table`` that describe the run,
            then ``step``, ``training_loss`` (the mean since the point before) and what a learned map has learned by
            then, such as ``exponent``.
        """
        return tables.make_curve_table(self)

    def summary(self) -> pd.DataFrame:
        """Return a short table for readers.

        Returns:
            The median over seeds of the primary metric (``mse``, ``exact`` or ``loss``) at a few test lengths (rows)
            for each config (columns). With several families, columns are named by the metric and the config.
        """
        return printing.summary(self)

    def plot(self, metric: str | None = None, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Plot a metric against test length, a curve for each config: median over seeds, band from min to max.

        Args:
            metric: A metric of the records, such as ``relative_error`` or ``tokens``. None plots the primary one:
                ``mse``, ``exact`` or ``loss``.
            path: Where to save the picture; the suffix decides the format. None saves none.

        Returns:
            The figure.

        Raises:
            InputError: The metric is unknown or not shared by all records, or no run is finished.
        """
        from synthlab.analysis.comparison import gather_points
        from synthlab.analysis.panels import draw_comparison  # matplotlib is imported only for plots

        figure = draw_comparison(gather_points(self.table(), metric, "length", None, None, None))
        save_picture(figure, "path", path, dpi=RC["savefig.dpi"])
        return figure

    def __repr__(self) -> str:
        return printing.render_records(self)

    def _repr_html_(self) -> str:
        finished = [record for record in self if record.diverged_at is None]
        return "\n".join(printing.summary(block).to_html() for block in printing.by_family(finished) or [[]])


def load_records(results: str | os.PathLike[str] = "results", where: Where = None) -> pd.DataFrame:
    """Return one tidy table of all runs below a folder of results.

    Args:
        results: The folder of the records, or the address of an object store.
        where: Conditions that a run or a row must all fulfil: ``"task=length,sum train_length>=20"``, several such
            texts, or a mapping such as ``{"task": ["length", "sum"], "seed": 0}``.

    Returns:
        A row for each run and test length, with the columns of ``Records.table``; a diverged run has a single
        row, without length. Empty if there is no such run.

    Raises:
        InputError: A condition cannot be read, or is on a column that no run has.

    Warns:
        UserWarning: Some records are damaged or of an unknown family; the warning names them, and the table omits them.

    Example:
        >>> import synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> records = synthlab.run(task="sum", seeds=2, test_length=20, protocol=short, progress=False)
        >>> table = synthlab.load_records(where="task=sum length>=19")
        >>> table[["task", "seed", "length"]].sort_values(["seed", "length"]).values.tolist()
        [['sum', 0, 19], ['sum', 0, 20], ['sum', 1, 19], ['sum', 1, 20]]
    """
    collection = Collection(Store(results), where)
    table = collection.table()
    for line in collection.warnings():
        warnings.warn(line, stacklevel=3)
    return table
