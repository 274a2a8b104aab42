"""The interface of plots: the data that a plot takes from the records of series of runs, and how to draw it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field, PositiveInt

from synthlab.analysis.curves import band_note
from synthlab.analysis.looks import Style, style_of
from synthlab.analysis.tables import make_table
from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.studies.fitting import count_runs
from synthlab.studies.grids import label

Lengths = Annotated[list[PositiveInt], Field(min_length=1)]


class Series(NamedTuple):
    """The runs behind one line: the settings that distinguish them, and a record for each seed.

    ``level`` is the training loss up to which a run fits; None if the study has none.
    """

    chosen: dict[str, Any]
    records: Sequence[Record]
    level: float | None = None

    @property
    def label(self) -> str:
        """``rope`` if only the encoding is chosen, else ``encoding=rope train_length=5``."""
        return label(self.chosen)

    def count_runs(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return ``rows`` of its runs, with the columns that count runs that fit and that diverged."""
        return count_runs(rows, self.records, self.level)


class Drawing(ABC):
    """Draws a table onto axes, and says how to read what it drew. All that it depends on are its attributes.

    ``height`` is that of its panel, where 1 is that of most.
    """

    height = 1.0

    def names(self, drawn: pd.DataFrame) -> list[str]:
        """Return the series of the table that a legend explains, in its order; empty where there is none."""
        return list(dict.fromkeys(drawn["series"])) if "series" in drawn else []

    def draw(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style] | None = None) -> None:
        """Draw the table, without a legend. ``styles`` are those of a sheet's series; None for the table's own."""
        self.paint(axes, drawn, style_of(self.names(drawn)) if styles is None else styles)

    @abstractmethod
    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        """Draw the table, each series in its style. Artists with a label get an entry in the sheet's legend."""

    @abstractmethod
    def note(self, drawn: pd.DataFrame) -> str:
        """Return what the reader must know to read the plot."""


class Plot(Drawing):
    """A kind of plot of records. The figure's file has its ``name`` and its constructor's arguments.

    It draws the table that ``data`` returns, with additional columns ``metric`` and ``train_length``.
    """

    measures: str | None = None  # the plotted quantity, if it is not the panel's metric

    def check(self, chosen: Sequence[Mapping[str, Any]], test_length: int) -> None:
        """Raise InputError, naming the argument, if the plot does not fit the series.

        ``chosen`` has the settings that distinguish each; the shortest is tested up to ``test_length``.
        """

    @abstractmethod
    def data(self, series: Sequence[Series], metric: str) -> pd.DataFrame:
        """Return the data of the plot, complete.

        The columns are ``median`` (or another plotted quantity), ``low``, ``high`` and ``seeds``, those that count runs
        that fit and that diverged, and those that identify the series.
        """

    def note(self, drawn: pd.DataFrame) -> str:
        """Return a note on seeds, band and training lengths."""
        return f"{band_note(drawn)}; trained on lengths up to {drawn['train_length'].max()}"


def tabulate_runs(series: Sequence[Series]) -> pd.DataFrame:
    """Return the table of all runs, with the series each belongs to."""
    return pd.concat(
        [one.count_runs(make_table(one.records)).assign(series=one.label) for one in series], ignore_index=True
    )


def check_lengths(lengths: Sequence[int], test_length: int) -> None:
    """Raise InputError for ``lengths`` beyond ``test_length``."""
    if max(lengths) > test_length:
        raise InputError(f"lengths={list(lengths)}: must be at most test_length={test_length}")
