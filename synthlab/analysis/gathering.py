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


class Gathered:
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
        self._types: set[Any] = set()
        self._runs: list[pd.DataFrame] = []
        self._numbers: list[pd.DataFrame] = []
        self._texts: list[pd.DataFrame] = []
        self._columns: dict[str, None] = {}  # in the order of tables
        self._settings: set[str] = set()
        self._count = 0

    @property
    def value_type(self) -> np.dtype:
        """The type of all values: whole numbers only if there are no others and none is missing."""
        return np.result_type(*self._types)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each finished run.

        It has the run's ``family`` and ``train_length``, the ``longest`` length it was tested to, the ``first`` and the
        ``last`` length with a value, whether rows were ``chosen``, whether one of these is ``not_finite``, and for each
        of the requested lengths whether it was tested there.
        """
        return pd.concat(self._runs, ignore_index=True) if self._runs else pd.DataFrame()

    @property
    def setting_names(self) -> list[str]:
        """The settings that any finished run has, in the order of tables."""
        return [name for name in self._columns if name in self._settings]

    @cached_property
    def settings(self) -> pd.DataFrame:
        """The settings of each finished run: texts, "" for missing ones; x and the seeds are numbers."""
        table = pd.concat(self._numbers, ignore_index=True)
        for name in self.setting_names:
            if name not in table:
                parts: list[Any] = [part.get(name, _to_category([""] * len(part))) for part in self._texts]
                table[name] = union_categoricals(parts)
        return table[self.setting_names]

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
        metric = self.metric or (TRAINING_LOSS if self.x == STEP else primary_of(families) if families else "")
        source = part.measured if metric in part.measured else part.runs
        values = source[metric] if metric in source else pd.Series(np.nan, index=source.index)
        values = _convert_numbers(values) if is_numeric(values) else pd.Series(np.nan, index=source.index)
        self._types.add(values.dtype)
        if len(runs):
            values = values.to_numpy()[finished if source is part.measured else part.places[finished]]
            self._add_settings(runs, families)
            self._add_values(runs, families, rows, run, metric, values)
            self._count += len(runs)

    def _add_settings(self, runs: pd.DataFrame, families: list[type[Run]]) -> None:
        settings = [name for name in map(str, runs) if is_setting(families, name)]
        self._columns |= dict.fromkeys(map(str, runs))
        self._settings.update(settings)
        numbers = [name for name in settings if name in (self.x, *Run.SEEDS) and is_numeric(runs[name])]
        self._numbers.append(pd.DataFrame({name: _convert_numbers(runs[name]) for name in numbers}, index=runs.index))
        texts = {name: _to_category(runs[name]) for name in settings if name not in numbers}
        self._texts.append(pd.DataFrame(texts, index=runs.index))

    def _add_values(
        self,
        runs: pd.DataFrame,
        families: list[type[Run]],
        rows: pd.DataFrame,
        run: np.ndarray,
        metric: str,
        values: np.ndarray,
    ) -> None:
        lengths = rows["length"].to_numpy()
        self.tested.update(np.unique(lengths).tolist())
        longest = pd.Series(lengths).groupby(run).max()
        chosen = np.ones(len(rows), bool)
        if not self._is_by_length(families, metric, pd.Series(values), run):
            chosen[:] = False
            chosen[np.unique(run, return_index=True)[1]] = True
        else:
            self.by_length = True
            if self.x != "length":
                chosen = np.isin(lengths, self.lengths) if self.lengths else lengths == longest.to_numpy()[run]
        finite = np.isfinite(values.astype(float))
        plotted = pd.Series(lengths)[chosen & finite].groupby(run[chosen & finite])
        about = {"family": _to_category(runs["family"]), "train_length": runs["train_length"].to_numpy(int)}
        about |= {"longest": longest, "first": plotted.min(), "last": plotted.max()}
        masks = {"chosen": chosen, "not_finite": chosen & ~finite}
        masks |= {tested_at(length): lengths == length for length in self.lengths}
        about |= {name: np.bincount(run[mask], minlength=len(runs)) > 0 for name, mask in masks.items()}
        self._runs.append(pd.DataFrame(about, index=runs.index))
        rows = rows[self.axes][chosen & finite]
        groups = rows.groupby(self.axes).indices if self.axes else {(): np.arange(len(rows))}
        run, values = (self._count + run[chosen & finite]).astype(np.int32), values[chosen & finite]
        for place, index in groups.items():
            key = place if isinstance(place, tuple) else (place,)
            self.values[key].append((run[index], values[index]))

    def _is_by_length(self, families: list[type[Run]], metric: str, values: pd.Series, run: np.ndarray) -> bool:
        if metric == HORIZON or any(metric in family.measures().metrics for family in families):
            return metric != HORIZON
        return bool(values.groupby(run).nunique().max() > 1)


def tested_at(length: float) -> str:
    """Return the column of ``Gathered.runs`` that says whether a run was tested at a length."""
    return f"tested at {length:g}"


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


def _to_category(values: Any) -> Any:
    return pd.Categorical(pd.Series(values).astype(object).map(text_of).astype(str))


def _convert_numbers(column: pd.Series) -> pd.Series:
    """Convert a nullable dtype of pandas to numpy's."""
    kind: Any = column.dtype
    return column.astype(float if column.hasnans else kind.numpy_dtype) if is_extension_array_dtype(kind) else column
