"""What a comparison needs of tables of runs, gathered part by part, so that no whole table is in memory.

A run takes about 200 bytes, and each value that is plotted 12: its number and that of its run.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_extension_array_dtype, is_numeric_dtype, union_categoricals

from synthlab.analysis.collection import Part
from synthlab.analysis.tables import HORIZON, STEP, TRAINING_LOSS, families_of, is_setting, primary_of
from synthlab.runs.run import Run


class MetricValues:
    """The finished runs of tables, and their values of one metric, at the lengths that are asked for.

    First ``add`` every part, then read the attributes.

    Args:
        metric: The metric; None for the primary one.
        x: The variable of the x-axis.
        named: All variables that distinguish points.
        lengths: If x is not ``length``, the test lengths; none for the longest of each run.

    Attributes:
        axes: Which of length and step distinguish points.
        values: The finite values at each place on the axes: arrays of the numbers of their runs, and of the values.
        by_length: True if the metric varies with test length, False if it has one value for each run.
        numeric: The columns of numbers that are no settings; True for those with any value.
        tested: All lengths that runs were tested on.
        unfinished: The number of unfinished runs, by status.
    """

    def __init__(self, metric: str | None, x: str, named: Iterable[str], lengths: Sequence[float]):
        self.metric, self.x, self.lengths = metric, x, lengths
        several = ["length"] * (len(lengths) > 1)
        self.axes = [name for name in ("length", STEP) if name in (x, *named, *several)]
        self.values: dict[tuple, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        self.by_length = False
        self.numeric: dict[str, bool] = {}
        self.tested: set[int] = set()
        self.unfinished: Counter[str] = Counter()
        self._runs: list[pd.DataFrame] = []  # of each part
        self._settings: list[pd.DataFrame] = []
        self._count = 0

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each finished run: ``family``, ``train_length``, and the ``longest`` length it was tested to."""
        return pd.concat(self._runs, ignore_index=True) if self._runs else pd.DataFrame()

    @cached_property
    def settings(self) -> pd.DataFrame:
        """The settings of each finished run, in the order of tables: texts, "" for missing ones.

        x and the seeds are numbers.
        """
        table = {}
        for name in dict.fromkeys(name for part in self._settings for name in part):
            parts = [part.get(name) for part in self._settings]
            numeric = any(each is not None and is_numeric(each) for each in parts)
            missing = [pd.Series(np.nan if numeric else "", part.index) for part in self._settings]
            parts = [none if each is None else each for each, none in zip(parts, missing, strict=True)]
            table[name] = (
                pd.concat(parts, ignore_index=True)
                if numeric
                else union_categoricals([each.astype("category") for each in parts])
            )
        return pd.DataFrame(table)

    def has_value(self, length: float | None = None) -> np.ndarray:
        """Return whether each finished run has a value, here at this test length if it is one of several."""
        found = np.zeros(self._count, bool)
        for place, chunks in self.values.items():
            if length is None or "length" not in self.axes or place[self.axes.index("length")] == length:
                for run, _ in chunks:
                    found[run] = True
        return found

    def add(self, part: Part) -> None:
        """Gather from a part of a table. Raises InputError if its runs have no primary metric in common."""
        finished = part.measured["length"].notna().to_numpy()
        unfinished, present = (np.unique(part.places[rows]) for rows in (~finished, finished))
        self.unfinished.update(part.runs["status"].iloc[unfinished])
        runs, run = part.runs.iloc[present].reset_index(drop=True), np.searchsorted(present, part.places[finished])
        rows = part.measured[finished].reset_index(drop=True).astype({"length": int})
        families = families_of(runs)
        for name in dict.fromkeys([*map(str, runs), *map(str, rows)]):
            column = rows[name] if name in rows else runs[name]
            if is_numeric(column) and not is_setting(families, name):
                self.numeric[name] = self.numeric.get(name, False) or bool(column.notna().any())
        if runs.empty:
            return
        metric = self.metric or (TRAINING_LOSS if self.x == STEP else primary_of(families))
        values = (rows if metric in rows else runs.take(run)).get(metric, pd.Series(np.nan, rows.index))
        values = values.to_numpy(float, na_value=np.nan) if is_numeric(values) else np.full(len(rows), np.nan)
        lengths, chosen = rows["length"].to_numpy(), np.isfinite(values)
        longest = pd.Series(lengths).groupby(run).max().to_numpy()
        if not self._is_by_length(families, metric, pd.Series(values).groupby(run)):
            chosen &= np.isin(np.arange(len(rows)), np.unique(run, return_index=True)[1])
        else:
            self.by_length = True
            if self.x != "length":
                chosen &= np.isin(lengths, self.lengths) if self.lengths else lengths == longest[run]
        about = {"family": to_category(runs["family"]), "train_length": runs["train_length"].to_numpy(int)}
        self._runs.append(pd.DataFrame(about | {"longest": longest}))
        settings = {name: runs[name] for name in runs if is_setting(families, name)}
        numbers = [name for name in settings if name in (self.x, *Run.SEEDS) and is_numeric(runs[name])]
        compact = {
            name: to_numbers(column) if name in numbers else to_category(column) for name, column in settings.items()
        }
        self._settings.append(pd.DataFrame(compact, index=runs.index))
        self.tested.update(np.unique(lengths).tolist())
        groups = rows[self.axes][chosen].groupby(self.axes).indices if self.axes else {(): slice(None)}
        run, values = (self._count + run[chosen]).astype(np.int32), values[chosen]
        for place, index in groups.items():
            self.values[place if isinstance(place, tuple) else (place,)].append((run[index], values[index]))
        self._count += len(runs)

    def _is_by_length(self, families: list[type[Run]], metric: str, values: Any) -> bool:
        if metric == HORIZON or any(metric in family.measures().metrics for family in families):
            return metric != HORIZON
        return bool(values.nunique().max() > 1)


def is_numeric(column: pd.Series) -> bool:
    """Return True for a column of numbers; truth values are not."""
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def text_of(value: Any) -> str:
    """Return a setting as one would type it, "" for a missing one. Values that differ have different texts."""
    if value is None or value is pd.NA or value != value:  # NaN
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else str(value).removesuffix(".0")


def to_category(column: pd.Series) -> Any:
    """Return a column as categories of texts."""
    return pd.Categorical(column.astype(object).map(text_of).astype(str))


def to_numbers(column: pd.Series) -> pd.Series:
    """Convert a nullable dtype of pandas to numpy's."""
    kind: Any = column.dtype
    return column.astype(float if column.hasnans else kind.numpy_dtype) if is_extension_array_dtype(kind) else column
