"""The comparison of runs: the points that show a metric against a setting, and remarks on them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from synthlab.analysis.collection import Part
from synthlab.analysis.gathering import MetricValues, is_numeric, text_of
from synthlab.analysis.series import Settings, member_styles
from synthlab.analysis.tables import (
    HORIZON,
    STEP,
    TRAINING_LOSS,
    band_note,
    families_of,
    find_varying,
    groups_of_families,
    mark_equal_seeds,
    metric_of,
    primary_of,
)
from synthlab.errors import InputError
from synthlab.metrics import Metric
from synthlab.runs.registry import describe_unknown, show
from synthlab.runs.run import Run

REQUIRED_COLUMNS = ("id", "family", "status", "train_length", "seed", "length")
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
    table: pd.DataFrame | Iterable[Part], metric: str | None, x: str, by: Names, facet: Names, length: Lengths
) -> Comparison:
    """Return the points that ``compare`` plots, and remarks on them. Raises InputError as it does.

    A table may come in parts, which are read one after the other.
    """
    by, facet = _names(by), _names(facet) or []
    lengths = sorted({number for _, number in _read_lengths(length)})
    known = MetricValues(metric, x, [*(by or []), *facet], lengths)
    for part in [split(table)] if isinstance(table, pd.DataFrame) else table:
        known.add(part)
    runs = known.runs
    if runs.empty:
        raise InputError("table: there is no finished run to plot")
    families, settings = families_of(runs), known.settings
    metric = (TRAINING_LOSS if x == STEP else primary_of(families)) if metric is None else metric
    _check_request(known, families, metric, x, by or [], facet, length)
    measured = metric_of(families, metric)
    has_x = settings[x].astype(object).replace("", None).notna() if x in settings else pd.Series(True, runs.index)
    at_lengths = {f" at length {each:g}": known.has_value(each) for each in lengths} or {"": known.has_value()}
    lost = {f"with no finite {metric}{at}": ~has for at, has in at_lengths.items()}
    lost |= {f"without {x}": ~has_x & known.has_value()}
    left_out = [_runs(count, f"{status} ") for status, count in known.unfinished.most_common()]
    left_out += [f"{_runs(int(of.sum()))} {why}" for why, of in lost.items() if of.any()]
    kept = has_x & known.has_value()
    if not kept.any():
        raise InputError(f"x={x}: no run is left to plot; left out: {', '.join(left_out)}")

    settings = settings[kept]
    differing = [column for column in find_varying(settings) if column not in (x, *facet)]
    by = differing if by is None else by
    unnamed = [column for column in differing if column not in by]
    if len(lengths) > 1 and "length" not in (*by, *facet):
        by = [*by, "length"]
    of = lengths if known.by_length and lengths else runs["longest"][kept]
    tested = " to ".join(dict.fromkeys(f"{each:.0f}" for each in (min(of), max(of))))
    points = _aggregate(known, kept.to_numpy(), settings, [*dict.fromkeys([*by, *facet])], x, unnamed)
    values = list(zip(*(points[column] for column in by), strict=True))
    series = {each: _series(by, each, groups_of_families(families)) for each in set(values)}
    points["series"] = [series[each] for each in values] or "all runs"
    keys = ["series", *facet, *by, x, "pooled"]
    if x == "length" and "train_length" not in keys:  # shade and mark the longest train_length
        keys.append("train_length")
        points["train_length"] = points.groupby(["series", *facet])["longest"].transform("max")
    if by:
        points = points.sort_values(by, key=lambda column: column.map(sort_texts(column).index))
    order = list(dict.fromkeys(points["series"]))
    points = points.assign(rank=points["series"].map(order.index)).sort_values(["rank", *keys[1:]], ignore_index=True)
    points = points[[*keys, "median", "low", "high", "seeds"]]
    if metric == HORIZON:
        points = points.astype({"low": int, "high": int})
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
    at = tested if known.by_length and not {"length", STEP} & {x, *by, *facet} else ""
    remarks += ["each run at the longest length it was tested to"] * (" to " in at)
    remarks += [f"left out: {', '.join(left_out)}"] * bool(left_out)
    settings_of = {
        name: {key: each for key, each in zip(by, value, strict=True) if each} for value, name in series.items()
    }
    found = {name: settings_of.get(name, {}) for name in order}
    return Comparison(points, metric, measured, found, x, by, facet, at, remarks)


def split(table: pd.DataFrame) -> Part:
    """Return a whole table as one part. Raises InputError unless it is a table of runs, or empty."""
    if table.empty:
        raise InputError("table: there is no finished run to plot")
    check_table("table", table)
    table = table.drop_duplicates(["id", "length", *[STEP] * (STEP in table)], ignore_index=True)
    return Part(table.drop_duplicates("id"), pd.factorize(table["id"])[0], table)


def _read_lengths(length: Lengths) -> list[tuple[Any, float]]:
    """Return each requested test length as it was given, and as a number; NaN for what is none."""
    lengths: list[tuple[Any, float]] = []
    for part in [] if length is None else length.split(",") if isinstance(length, str) else np.ravel(length):
        try:
            lengths.append((part, float(part)))
        except (OverflowError, TypeError, ValueError):
            lengths.append((part, np.nan))
    return lengths


def _check_request(
    known: MetricValues,
    families: list[type[Run]],
    metric: str,
    x: str,
    by: list[str],
    facet: list[str],
    length: Lengths,
) -> None:
    """Raise InputError with a line for each unknown or unsuitable name or length."""
    metrics = {name for family in families for name in family.measures().metrics}
    numeric = sorted(known.numeric.items(), key=lambda item: item[0] == HORIZON)
    measures = [name for name, filled in numeric if name not in REQUIRED_COLUMNS and (filled or name in metrics)]
    columns = ["length", *[STEP] * (STEP in known.numeric), *known.settings]
    fields = [("x", x), *(("by", name) for name in by), *(("facet", name) for name in facet)]
    lines = [] if metric in measures else [describe_unknown("metric", metric, measures)]
    lines += [describe_unknown(field, name, columns) for field, name in fields if name not in columns]
    lines += [f"{field}={name}: must not be x too" for field, name in fields[1:] if name == x]
    lines += [f"by={name}: must not be in facet too" for name in by if name in facet]
    lines += [f"facet={','.join(facet)}: must be at most two settings"] * (len(facet) > 2)
    bounds = f"{min(known.tested)} to {max(known.tested)}"
    wrong = [part for part, number in _read_lengths(length) if number not in known.tested]
    lines += [f"length={show(part)}: must be a length that was tested, {bounds}" for part in wrong]
    if length is not None and x == "length":
        lines.append(f"length={show(length)}: must be left out where x is length, which shows every one")
    if metric in measures and not known.by_length:
        lines += [f"{field}=length: {metric} is one number for each run" for field, name in fields if name == "length"]
        lines += [f"length={show(length)}: {metric} is one number for each run"] * (length is not None)
    if lines:
        raise InputError(*dict.fromkeys(lines))


def _aggregate(
    known: MetricValues, kept: np.ndarray, settings: pd.DataFrame, named: list[str], x: str, unnamed: list[str]
) -> pd.DataFrame:
    """Return the points: the median and range of the values of runs that agree in ``named`` and ``x``.

    Args:
        known: The values.
        kept: True for each run of ``known`` that is plotted.
        settings: The settings of these runs.
        named: The variables that distinguish points, but x.
        x: The variable of the x-axis.
        unnamed: The other settings that differ. For each point, ``pooled`` names those that differ between its runs.
    """
    marked = mark_equal_seeds(settings)
    labels = {name: marked[name].astype(object).map(text_of).astype(str) for name in named if name not in known.axes}
    if x not in known.axes:
        labels[x] = settings[x] if is_numeric(settings[x]) else settings[x].astype(str)
    labels = pd.DataFrame(labels, index=settings.index).reset_index(drop=True)
    cell = labels.groupby([*labels], sort=False).ngroup() if len(labels.columns) else pd.Series(0, labels.index)
    first = labels.iloc[np.unique(cell, return_index=True)[1]].reset_index(drop=True)
    codes = {name: pd.factorize(settings[name], use_na_sentinel=False)[0] for name in unnamed}
    longest, number = known.runs["train_length"].to_numpy()[kept], np.cumsum(kept) - 1
    points = []
    for place, chunks in known.values.items():
        run, value = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
        value, run = value[kept[run]], number[run[kept[run]]]
        rows = pd.DataFrame({"value": value, "longest": longest[run]} | {name: of[run] for name, of in codes.items()})
        groups = rows.groupby(cell.to_numpy()[run])
        found = groups.agg(
            median=("value", "median"),
            low=("value", "min"),
            high=("value", "max"),
            seeds=("value", "count"),
            longest=("longest", "max"),
        )
        pooled = pd.Series("", index=found.index)
        for name in unnamed:
            pooled = pooled.mask(groups[name].min() < groups[name].max(), pooled + ", " + name)
        on_axes = {name: each if name == x else text_of(each) for name, each in zip(known.axes, place, strict=True)}
        points.append(first.loc[found.index].assign(**on_axes, pooled=pooled.str.removeprefix(", ")).join(found))
    return pd.concat(points, ignore_index=True)


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
    missing = [column for column in REQUIRED_COLUMNS if column not in table]
    if missing:
        lacks = f"has no column {', '.join(missing)}; write it with synthlab collect"
        raise InputError(f"{field}: must be a table of runs, but {lacks}")
    for column in ("length", "train_length"):
        if not (is_numeric(table[column]) and (table[column].dropna() % 1 == 0).all()):
            raise InputError(f"{field}: must be a table of runs, but {column} has values that are not whole numbers")


def _names(given: Names) -> list[str] | None:
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else given
    return [name for name in dict.fromkeys(str(part).strip() for part in parts) if name]


def _runs(number: int, kind: str = "") -> str:
    return f"{number} {kind}run{'s' * (number > 1)}"


def sort_texts(texts: Iterable[str]) -> list[str]:
    """Numbers by size, then encodings and maps in the order of legends, then others by alphabet."""
    members = list(member_styles())

    def rank(text: str) -> tuple:
        try:
            return 0, float(text), text
        except ValueError:
            return 1, members.index(text) if text in members else len(members), text

    return sorted(set(texts), key=rank)
