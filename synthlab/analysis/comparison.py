"""The comparison of runs: the points that show a metric against a setting, and remarks on them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_extension_array_dtype, is_numeric_dtype

from synthlab.analysis.series import Settings, member_names
from synthlab.analysis.tables import (
    HORIZON,
    STEP,
    TRAINING_LOSS,
    aggregate_seeds,
    band_note,
    find_lacking,
    find_varying,
    groups_of_kinds,
    is_setting,
    kinds_of,
    mark_followers,
    metric_of,
    primary_of,
)
from synthlab.config.base import Config
from synthlab.config.registry import describe_unknown, show
from synthlab.errors import InputError
from synthlab.metrics import Metric

NEEDED = ("id", "kind", "status", "train_length", "seed", "length")
MOST_SERIES, MOST_PANELS = 35, 24  # the most series with distinct styles, and the most panels

Names = str | Sequence[str] | None
Lengths = int | float | str | Sequence[int | float] | None


class Comparison(NamedTuple):
    """A comparison to plot.

    ``points`` has a row for each point: its ``series``, the settings that distinguish it (as text), ``x``, ``median``,
    ``low``, ``high``, the number of runs (``seeds``), the settings it is ``pooled`` over.
    """

    points: pd.DataFrame
    metric: str
    measured: Metric
    series: Mapping[str, Settings]  # the settings of each, in the legend's order
    x: str
    by: list[str]
    facet: list[str]
    at: str  # the test length, or the range of them, unless it is an axis
    remarks: list[str]

    def csv(self) -> str:
        """Return the points as CSV, with the columns ``runs`` (their number) and ``pooled_over``."""
        columns = [*self.facet, *self.by, self.x, "median", "low", "high", "seeds", "pooled"]
        table = self.points[columns].rename(columns={"seeds": "runs", "pooled": "pooled_over"})
        for name, value in [("length", self.at)] * bool(self.at) + [("metric", self.metric)]:
            table.insert(0, name, value)
        return table.to_csv(index=False)


def gather_points(
    table: pd.DataFrame, metric: str | None, x: str, by: Names, facet: Names, length: Lengths
) -> Comparison:
    """Return the points that ``compare`` plots, and remarks on them. Raises InputError as it does."""
    if not table.empty:
        check_table("table", table)
    if table.empty or table["length"].isna().all():
        raise InputError("table: there is no finished run to plot")
    points = ["id", "length", *[STEP] * (STEP in table)]
    table = _convert_numbers(table.drop_duplicates(points, ignore_index=True))
    finished = table.dropna(subset=["length"]).astype({"length": int})
    kinds = kinds_of(finished)
    metric = (TRAINING_LOSS if x == STEP else primary_of(kinds)) if metric is None else metric
    by, facet = _names(by), _names(facet) or []
    lengths, measured = _check_request(finished, kinds, metric, x, by or [], facet, length), metric_of(kinds, metric)
    others = finished["kind"].isin(find_lacking(kinds, metric))
    rows, left_out = _select_rows(finished[~others], _is_by_length(finished, kinds, metric), metric, x, lengths)
    left_out = [f"{_runs(finished['id'][others].nunique())} without {metric}"] * bool(others.any()) + left_out
    unfinished = table[table["length"].isna()].drop_duplicates("id")["status"].value_counts()
    left_out = [_runs(count, f"{status} ") for status, count in unfinished.items()] + left_out
    if rows.empty:
        raise InputError(f"x={x}: no run is left to plot; left out: {', '.join(left_out)}")

    run, runs = pd.factorize(rows["id"])[0], rows.drop_duplicates("id")
    # As text, to treat a missing setting as a value.
    settings = runs[[column for column in rows if is_setting(kinds, column)]].astype(object).map(text_of)
    differing = [column for column in find_varying(settings) if column not in (x, *facet)]
    by = differing if by is None else by
    unnamed = [column for column in differing if column not in by]
    if len(lengths) > 1 and "length" not in (*by, *facet):
        by = [*by, "length"]
    tested = rows["length"] if _is_by_length(finished, kinds, metric) else finished.groupby("id")["length"].max()
    tested = " to ".join(dict.fromkeys([str(tested.min()), str(tested.max())]))

    texts = [*by, *facet] if is_numeric(rows[x]) else [*by, *facet, x]
    named = mark_followers(runs).astype(object)
    rows = rows[[*dict.fromkeys(["id", "length", "train_length", metric, x, *by, *facet])]]
    for column in texts:
        of_row = rows[column] if column in ("length", STEP) else named[column].iloc[run].set_axis(rows.index)
        rows = rows.assign(**{column: of_row.map(text_of)})
    rows["pooled"] = _find_pooled(rows.groupby([*by, *facet, x]).ngroup(), settings[unnamed], run)
    values = list(zip(*(rows[column] for column in by), strict=True))
    series = {each: _series(by, each, groups_of_kinds(kinds)) for each in set(values)}
    rows["series"] = [series[each] for each in values] or "all runs"
    keys = ["series", *facet, *by, x, "pooled"]
    if x == "length" and "train_length" not in keys:  # shade and mark the longest train_length
        keys.append("train_length")
        rows["train_length"] = rows.groupby(["series", *facet])["train_length"].transform("max")
    if by:  # over_seeds keeps the order of the series
        rows = rows.sort_values(by, key=lambda column: column.map(sort_texts(column).index))
    points = aggregate_seeds(rows, keys, metric)
    for kind, field, names, most in (("series", "by", by, MOST_SERIES), ("panels", "facet", facet, MOST_PANELS)):
        if names and (number := len(points[names].drop_duplicates())) > most:
            few = f"must make at most {most} {kind}, not {number}; name fewer settings, or look at fewer runs (where)"
            raise InputError(f"{field}={','.join(names)}: {few}")

    remarks = [_runs_note(points, x, facet)]
    pooled = [column for column in unnamed if any(column in text.split(", ") for text in points["pooled"].unique())]
    others = [column for column in unnamed if column not in pooled]
    remarks += [f"pooled over {', '.join(pooled)}"] * bool(pooled)
    remarks += [f"not all points agree in {', '.join(others)}"] * bool(others)
    remarks += [f"tested to length {tested}"] * (metric == HORIZON)
    at = tested if _is_by_length(finished, kinds, metric) and not {"length", STEP} & {x, *by, *facet} else ""
    remarks += ["each run at the longest length it was tested to"] * (" to " in at)
    remarks += [f"left out: {', '.join(left_out)}"] * bool(left_out)
    order = list(dict.fromkeys(points["series"]))
    settings_of = {
        name: {key: each for key, each in zip(by, value, strict=True) if each} for value, name in series.items()
    }
    found = {name: settings_of.get(name, {}) for name in order}
    return Comparison(points, metric, measured, found, x, by, facet, at, remarks)


def _check_request(
    finished: pd.DataFrame,
    kinds: list[type[Config]],
    metric: str,
    x: str,
    by: list[str],
    facet: list[str],
    length: Lengths,
) -> list[float]:
    """Return the requested test lengths. Raises InputError with a line for each unknown or unsuitable name."""
    measures = [
        c for c in map(str, finished) if is_numeric(finished[c]) and not is_setting(kinds, c) and c not in NEEDED
    ]
    known = {name for kind in kinds for name in kind.measures().metrics}
    measures = [column for column in measures if column in known or finished[column].notna().any()]
    columns = [
        "length",
        *[STEP] * (STEP in finished),
        *(column for column in map(str, finished) if is_setting(kinds, column)),
    ]
    fields = [("x", x), *(("by", name) for name in by), *(("facet", name) for name in facet)]
    lines = [] if metric in measures else [describe_unknown("metric", metric, measures)]
    lines += [describe_unknown(field, name, columns) for field, name in fields if name not in columns]
    lines += [f"{field}={name}: must not be x too" for field, name in fields[1:] if name == x]
    lines += [f"by={name}: must not be in facet too" for name in by if name in facet]
    lines += [f"facet={','.join(facet)}: must be at most two settings"] * (len(facet) > 2)
    tested, lengths = finished["length"].unique(), []
    for part in [] if length is None else length.split(",") if isinstance(length, str) else np.ravel(length):
        try:
            lengths.append(float(part))
        except (OverflowError, TypeError, ValueError):
            lengths.append(np.nan)
        if lengths[-1] not in tested:
            lines.append(f"length={show(part)}: must be a length that was tested, {tested.min()} to {tested.max()}")
    if length is not None and x == "length":
        lines.append(f"length={show(length)}: must be left out where x is length, which shows every one")
    if metric in measures and not _is_by_length(finished, kinds, metric):
        lines += [f"{field}=length: {metric} is one number for each run" for field, name in fields if name == "length"]
        lines += [f"length={show(length)}: {metric} is one number for each run"] * (length is not None)
    if lines:
        raise InputError(*dict.fromkeys(lines))
    return sorted(set(lengths))


def _select_rows(
    finished: pd.DataFrame, by_length: bool, metric: str, x: str, lengths: list[float]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows with a value to plot, and for each reason how many runs are left out."""
    ids, rows = finished["id"], finished
    if not by_length:
        rows = finished.drop_duplicates("id")
    elif x != "length":
        longest = finished.groupby("id")["length"].transform("max")
        rows = finished[finished["length"].isin(lengths) if lengths else finished["length"] == longest]
    finite = np.isfinite(rows[metric].astype(float))
    lost = {f"not tested at length {k:g}": ids[~ids.isin(ids[finished["length"] == k])] for k in lengths}
    lost |= {f"without {x}": rows["id"][rows[x].isna()], f"whose {metric} is not finite": rows["id"][~finite]}
    return rows[rows[x].notna() & finite], [f"{_runs(of.nunique())} {why}" for why, of in lost.items() if len(of)]


def _find_pooled(point: pd.Series, settings: pd.DataFrame, run: np.ndarray) -> pd.Series:
    """Return which settings differ between the runs of a row's point: names with commas.

    Args:
        point: The number of each row's point.
        settings: The settings of each run.
        run: The place of each row's run in ``settings``.
    """
    pooled = pd.Series("", index=point.index)
    for column in map(str, settings):
        values = pd.Series(pd.factorize(settings[column])[0][run], index=point.index).groupby(point)
        pooled = pooled.mask(values.transform("min") < values.transform("max"), pooled + ", " + column)
    return pooled.str.removeprefix(", ")


def _runs_note(points: pd.DataFrame, x: str, facet: list[str]) -> str:
    """How many runs are behind a point, what bands are, what is shaded."""
    note = band_note(points)
    if points["pooled"].any():
        note = note.replace("seed", "run")
    if x != "length":
        return note if is_numeric(points[x]) else note.replace("band", "bar")
    trained = points.groupby(facet or np.zeros(len(points)))["train_length"].nunique()
    ends = "; each curve is ringed where its training lengths end" if trained.max() > 1 else ""
    return f"{note}; trained on the shaded lengths{ends}"


def _series(by: list[str], values: Iterable[str], groups: list[str]) -> str:
    """Return a series' name, as in ``tables.label_series``, but without the settings that its runs lack."""
    pairs = [(key, value) for key, value in zip(by, values, strict=True) if value]
    if len(by) == 1 and pairs and by[0] in groups:
        return pairs[0][1]
    return " ".join(f"{key}={value}" for key, value in pairs) or f"without {', '.join(by)}"


def check_table(field: str, table: pd.DataFrame) -> None:
    """Raise InputError unless ``table`` is a table of runs."""
    missing = [column for column in NEEDED if column not in table]
    if missing:
        lacks = f"has no column {', '.join(missing)}; write it with synthlab collect"
        raise InputError(f"{field}: must be a table of runs, but {lacks}")
    for column in ("length", "train_length"):
        if not (is_numeric(table[column]) and (table[column].dropna() % 1 == 0).all()):
            raise InputError(f"{field}: must be a table of runs, but {column} has values that are not whole numbers")


def _convert_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Convert nullable dtypes of pandas to numpy's."""
    of_pandas: dict[Any, Any] = {
        name: kind for name, kind in table.dtypes.items() if is_extension_array_dtype(kind) and is_numeric(table[name])
    }
    return table.astype({name: float if table[name].hasnans else of_pandas[name].numpy_dtype for name in of_pandas})


def _names(given: Names) -> list[str] | None:
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else given
    return [name for name in dict.fromkeys(str(part).strip() for part in parts) if name]


def is_numeric(column: pd.Series) -> bool:
    """Return True for a column of numbers; truth values are not."""
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def _is_by_length(finished: pd.DataFrame, kinds: list[type[Config]], metric: str) -> bool:
    """Return True if ``metric`` varies with test length, False if it has one value for each run."""
    if metric == HORIZON or any(metric in kind.measures().metrics for kind in kinds):
        return metric != HORIZON
    return bool(finished.groupby("id")[metric].nunique().max() > 1)


def _runs(number: int, kind: str = "") -> str:
    return f"{number} {kind}run{'s' * (number > 1)}"


def text_of(value: Any) -> str:
    """Return a setting as one would type it, "" for a missing one. Values that differ have different texts."""
    if value is None or value is pd.NA or value != value:  # NaN
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else str(value).removesuffix(".0")


def sort_texts(texts: Iterable[str]) -> list[str]:
    """Numbers by size, then encodings and maps in the order of legends, then others by alphabet."""
    members = member_names()

    def rank(text: str) -> tuple:
        try:
            return 0, float(text), text
        except ValueError:
            return 1, members.index(text) if text in members else len(members), text

    return sorted(set(texts), key=rank)
