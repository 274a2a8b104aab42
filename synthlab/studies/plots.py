"""Kinds of plots of records: the data that each takes from series of runs, and how it draws them.

Drawing needs the data only, which are the panel's CSV.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from pydantic import Field, PositiveInt

from synthlab.analysis.plotting import Drawing, draw_cells, draw_curves, draw_lines
from synthlab.analysis.series import SYMBOLS, Settings, name_setting
from synthlab.analysis.tables import aggregate_seeds, band_note, curves, make_table, metric_of, seeds_note
from synthlab.errors import InputError
from synthlab.metrics import Metric
from synthlab.runs.conf_files import families, run_type
from synthlab.runs.registry import Registry
from synthlab.storage.records import Record
from synthlab.studies.evidence import fits
from synthlab.studies.grids import label

Lengths = Annotated[list[PositiveInt], Field(min_length=1)]
UNFIT = "hatched: no run fits"


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
        """Return ``rows`` with columns that ``aggregate_seeds`` counts.

        ``diverged`` is how many of its runs diverged. ``fit`` is True if the row's run, named by its column ``id``,
        fits; it is missing without a level.
        """
        rows = rows.assign(diverged=sum(record.diverged_at is not None for record in self.records))
        if self.level is None:
            return rows
        fitting = [record.config.id for record in self.records if fits(record, self.level)]
        return rows.assign(fit=rows["id"].isin(fitting))

    def losses(self) -> pd.DataFrame:
        """Return the training curves of its finished runs, one after the other; empty if there are none."""
        finished = [record for record in self.records if record.diverged_at is None]
        parts = [record.training.assign(series=self.label, id=record.config.id) for record in finished]
        return self.count_runs(pd.concat(parts)) if parts else pd.DataFrame()


class Plot(Drawing):
    """A kind of plot of records. The figure's file has its ``name`` and its constructor's arguments.

    It draws the table that ``data`` returns, with additional columns ``metric`` and ``train_length``.
    """

    measures: str | None = None  # the plotted quantity, if it is not the panel's metric

    def check(self, chosen: Sequence[Settings], test_length: int) -> None:
        """Raise InputError, naming the argument, if the plot does not fit the series.

        ``chosen`` has the settings that distinguish each; the shortest is tested up to ``test_length``.
        """

    @abstractmethod
    def data(self, series: Sequence[Series], metric: str) -> pd.DataFrame:
        """Return the data of the plot, complete.

        The columns are ``median`` (or another plotted quantity), ``low``, ``high`` and ``seeds``, those that count runs
        that fit and that diverged, and those that identify the series.
        """

    def settings(self, series: Sequence[Series]) -> Mapping[str, Settings]:
        """Return the settings of each series that ``data`` returns, by its name."""
        return {one.label: one.chosen for one in series}

    def note(self, drawn: pd.DataFrame) -> str:
        """Return a note on seeds, band and training lengths."""
        return f"{band_note(drawn)}; trained on lengths up to {drawn['train_length'].max()}"


class Curves(Plot):
    """Error against length: a line and a band for each series."""

    def data(self, series, metric):
        runs = tabulate_runs(series)
        return curves(runs, metric, runs["series"])

    def paint(self, axes, drawn, styles):
        draw_curves(axes, drawn, _metric(drawn), styles)

    def note(self, drawn):
        ends = "; each curve is ringed where its training lengths end" if drawn["train_length"].nunique() > 1 else ""
        return f"{band_note(drawn)}; trained on the shaded lengths{ends}"


class TrainingLoss(Plot):
    """Training loss against step, whatever the panel's metric."""

    measures = "training loss, representation space"

    def data(self, series, metric):
        losses = pd.concat([one.losses() for one in series])
        return losses if losses.empty else aggregate_seeds(losses, ["series", "step"], "loss")

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", styles, every=0.12)
        axes.set_xscale("log")
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")


class AtLengths(Plot):
    """A plot of the errors at the given test ``lengths``."""

    def __init__(self, lengths: Lengths):
        self.lengths = lengths

    def check(self, chosen, test_length):
        check_lengths(self.lengths, test_length)


class Against(AtLengths):
    """Error at the given test ``lengths`` against one setting ``x`` of the panel's grid.

    There is a line for each combination of the other settings, and for each length.
    """

    def __init__(self, x: str, lengths: Lengths):
        super().__init__(lengths)
        self.x = x

    def check(self, chosen, test_length):
        super().check(chosen, test_length)
        values = [series.get(self.x) for series in chosen]
        if not all(isinstance(value, int | float) and value > 0 for value in values):
            raise InputError(f"x={self.x}: must be a setting in vary whose values are all numbers above 0")

    def data(self, series, metric):
        parts = [
            tabulate_runs([one])
            .query("length == @length")
            .assign(series=label(self._others(one, length)), **{self.x: one.chosen[self.x]})
            for length in self.lengths
            for one in series
        ]
        runs = pd.concat(parts)
        return aggregate_seeds(runs, ["series", self.x], metric) if len(runs) else pd.DataFrame()

    def settings(self, series):
        found = [self._others(one, length) for length in self.lengths for one in series]
        return {label(settings): settings for settings in found}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, self.x, styles)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(sorted(drawn[self.x].unique())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel(SYMBOLS.get(self.x, self.x))
        at = f"\nat length {self.lengths[0]}" if len(self.lengths) == 1 else ""
        axes.set_ylabel(f"{_metric(drawn).meaning}{at}")

    def _others(self, series: Series, length: int) -> dict[str, Any]:
        others = {key: value for key, value in series.chosen.items() if key != self.x}
        return others if len(self.lengths) == 1 else others | {"length": length}


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
            f"{f'; {UNFIT}' if find_unfit(drawn).any() else ''}"
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

    def settings(self, series):
        return {}

    def paint(self, axes, drawn, styles):
        keys = (self.rows, self.columns)
        rows, columns = (list(dict.fromkeys(drawn[key])) for key in keys)
        drawn = drawn.assign(unfit=find_unfit(drawn))
        values, unfit = (
            drawn.pivot(index=self.rows, columns=self.columns, values=name).loc[rows, columns]
            for name in ("median", "unfit")
        )
        texts = [["-" if np.isnan(value) else self.text(value, drawn) for value in row] for row in values.to_numpy()]
        left, below = ([name_setting(key, each) for each in of] for key, of in zip(keys, (rows, columns), strict=True))
        limits = (0, self.find_greatest(drawn))
        draw_cells(axes, values.to_numpy(), texts, left, below, limits=limits, hatched=unfit.eq(True).to_numpy())


def find_unfit(drawn: pd.DataFrame) -> pd.Series:
    """Return which rows have runs of which none fits; none does not if fitting is not defined."""
    return drawn["fit"].eq(0) if "fit" in drawn else pd.Series(False, index=drawn.index)


PLOTS = Registry("plot", Plot, {"curves": Curves, "training": TrainingLoss, "against": Against, "heat": Heat})


def tabulate_runs(series: Sequence[Series]) -> pd.DataFrame:
    """Return the table of all runs, with the series each belongs to."""
    return pd.concat(
        [one.count_runs(make_table(one.records)).assign(series=one.label) for one in series], ignore_index=True
    )


def check_lengths(lengths: Sequence[int], test_length: int) -> None:
    """Raise InputError for ``lengths`` beyond ``test_length``."""
    if max(lengths) > test_length:
        raise InputError(f"lengths={list(lengths)}: must be at most test_length={test_length}")


def _metric(drawn: pd.DataFrame) -> Metric:
    """Return the metric that is drawn."""
    return metric_of(map(run_type, families()), drawn["metric"].iloc[0])
