"""Tables of records: settings and metrics, varying settings, metrics over seeds, the meaning of columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from synthlab.analysis.conditions import to_text
from synthlab.errors import InputError
from synthlab.metrics import Metric
from synthlab.runs.run import Run, run_type
from synthlab.storage.records import Record

HORIZON = "horizon"
STEP, TRAINING_LOSS = "step", "training_loss"  # columns of tables of training curves
ONE_FAMILY = "choose runs of one family (where task=...)"
ENVIRONMENT = ("torch", "device")  # where a run was trained: no part of its identity, but columns of tables


def make_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row for each run and test length: identity, outcome and settings, then metrics and horizon."""
    if not records:
        return pd.DataFrame()
    runs = pd.DataFrame([run_row(record) for record in records])
    metrics = [
        record.metrics
        if record.diverged_at is None
        else pd.DataFrame([dict.fromkeys(("length", *record.config.measures().metrics), float("nan"))])
        for record in records
    ]
    table = _repeat_runs(runs, metrics)
    table["horizon"] = table.pop("horizon")  # move it to the end
    return table


def make_curve_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row for each finished run and point of its training curve.

    The columns describe the run as ``make_table`` does, then have the longest test length, ``step``, ``training_loss``,
    and what has been learned of its map so far.
    """
    finished = [record for record in records if record.diverged_at is None]
    parts = [
        record.training.rename(columns={"loss": TRAINING_LOSS}).assign(length=record.metrics["length"].max())
        for record in finished
    ]
    if not parts:
        return pd.DataFrame()
    runs = pd.DataFrame([run_row(record) for record in finished]).drop(columns="horizon")
    return _repeat_runs(runs, parts)


def _repeat_runs(runs: pd.DataFrame, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Repeat each run, a row of ``runs``, for each row of its table among ``parts``."""
    repeated = runs.loc[runs.index.repeat([len(rows) for rows in parts])].reset_index(drop=True)
    return pd.concat([repeated, pd.concat(parts, ignore_index=True)], axis="columns")


def find_varying(table: pd.DataFrame) -> list[str]:
    """Return the settings in which the runs of ``table`` differ, except ``seed`` and seeds that equal it.

    A group's keys count only where they differ under the same name: ``encoding.table`` adds nothing to ``encoding``,
    nor does a shift that follows from task and map. A table without ``family`` has only settings.
    """
    families = families_of(table) if "family" in table else None
    settings = [c for c in table.columns if c != "seed" and (families is None or is_setting(families, c))]
    differing = [column for column in settings if count_distinct(table[column]) > 1]
    return [column for column in differing if not (_depends_on_name(table, column) or equals_seed(table, column))]


def label_series(table: pd.DataFrame) -> pd.Series:
    """Return, for each row, the settings that distinguish its series.

    This is ``rope`` if only the encoding differs, else ``encoding=rope outrep=rsqrt``; the task's name if nothing
    differs.
    """
    columns, table = find_varying(table), mark_equal_seeds(table)
    if not columns:
        return table["task" if "task" in table else "family"]
    if len(columns) == 1 and columns[0] in groups_of_families(families_of(table)):
        return table[columns[0]]
    pairs = [column + "=" + table[column].map(to_text) for column in columns]
    # The stubs of pandas lack lists of columns.
    return pairs[0].str.cat(pairs[1:], sep=" ")  # pyright: ignore[reportArgumentType, reportCallIssue]


def curves(table: pd.DataFrame, metric: str, series: pd.Series | None = None) -> pd.DataFrame:
    """Return ``metric`` against length for each series, as in ``aggregate_seeds``; with its longest ``train_length``.

    Diverged runs have no lengths and so no part in a curve. Series keep the order of the table.
    """
    table = table.assign(series=label_series(table) if series is None else series).dropna(subset=["length"])
    result = aggregate_seeds(table.astype({"length": int}), ["series", "length"], metric)
    return result.assign(train_length=result["series"].map(table.groupby("series")["train_length"].max()))


def aggregate_seeds(table: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Return ``median``, ``low`` and ``high`` of ``value`` over rows with equal ``by``, and the number of ``seeds``.

    If the table has a column ``fit``, which is True for rows whose run fits: how many do, and their ``median_fit``. A
    column ``diverged``, the same in rows that agree, is kept. The first of ``by`` keeps the order of the table, the
    others are sorted.
    """
    order = list(dict.fromkeys(table[by[0]]))
    measures = {"median": (value, "median"), "low": (value, "min"), "high": (value, "max"), "seeds": (value, "count")}
    if "fit" in table:
        table = table.assign(fitting=table[value].where(table["fit"]))
        measures |= {"fit": ("fitting", "count"), "median_fit": ("fitting", "median")}
    if "diverged" in table:
        measures |= {"diverged": ("diverged", "max")}
    result = table.groupby(by, dropna=False).agg(**measures).reset_index()
    rank = result[by[0]].map(order.index)
    return result.assign(rank=rank).sort_values(["rank", *by[1:]]).drop(columns="rank").reset_index(drop=True)


def seeds_note(drawn: pd.DataFrame) -> str:
    """Return the number of seeds of each point, for a caption."""
    fewest, most = drawn["seeds"].min(), drawn["seeds"].max()
    if most == 1:
        return "one seed"
    return f"median of {most if fewest == most else f'{fewest} to {most}'} seeds"


def band_note(drawn: pd.DataFrame) -> str:
    """Return the meaning of lines and bands, for a caption: the number of seeds and the range of the band."""
    note = seeds_note(drawn)
    return note if note == "one seed" else f"{note}, band from least to greatest"


def count_distinct(column: pd.Series) -> int:
    """Count the different values of a column; missing values differ from all others."""
    return column.map(to_text).nunique()


def _depends_on_name(table: pd.DataFrame, column: str) -> bool:
    group = column.split(".")[0]
    by = ["task", group] if column == "outrep.shift" else [group]
    if column == group or not {*by} <= {*table.columns}:
        return False
    return all(count_distinct(rows) == 1 for _, rows in table.groupby(by, observed=True)[column])


def equals_seed(table: pd.DataFrame, column: str) -> bool:
    """Return True if ``column`` of a table of settings has only seeds that equal ``seed``.

    Families that lack the column have no separate seed.
    """
    if column not in Run.SEEDS:
        return False
    own, seed = (pd.to_numeric(table[name], errors="coerce") for name in (column, "seed"))
    return bool((own.isna() | (own == seed)).all())


def mark_equal_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the word ``seed`` for each seed that follows ``seed``, in columns with other seeds.

    A record does not tell which do: both are numbers. A value that equals ``seed`` and occurs under no other ``seed``
    counts as one that follows, if there are two such values or more. So among runs with ``test_seed=0`` and runs whose
    test sequences follow the seed, the run of seed 0 counts as one with ``test_seed=0``.
    """
    texts: dict[str, pd.Series] = {}
    for column in (name for name in Run.SEEDS[1:] if name in table and not equals_seed(table, name)):
        own, seed = (pd.to_numeric(table[name], errors="coerce") for name in (column, "seed"))
        follow = (own == seed) & (seed.groupby(own).transform("nunique") == 1)
        if own[follow].nunique() > 1:
            texts[column] = table[column].astype(object).mask(follow, "seed")
    return table.assign(**texts)


def run_row(record: Record) -> dict[str, Any]:
    """Return the row of a run without its metrics by length."""
    run = {
        "id": record.config.id,
        "family": record.config.family,
        "status": record.status,
        "weights": bool(record.weights),
    }
    run["tag"] = join_tags(record.tags)
    run |= {name: record.environment.get(name) for name in ENVIRONMENT} | record.settings()
    if record.diverged_at is not None:
        return run | {"diverged_at": record.diverged_at, "horizon": float("nan")}
    return run | (horizon_of(record) or {"horizon": float("nan")})


def join_tags(tags: Sequence[str]) -> str | None:
    """Return the tags of a run as tables have them, with commas; None without any."""
    return ",".join(tags) or None


def horizon_of(record: Record) -> dict[str, int]:
    """Return the ``horizon`` of a finished run; empty for families of runs without one."""
    return {} if record.horizon is None else {"horizon": record.horizon}


def families_of(table: pd.DataFrame) -> list[type[Run]]:
    """Return the families of the runs in ``table``, by its column ``family``. Raises UnknownFamily."""
    return [run_type(name) for name in table["family"].unique()]


def is_setting(families: Iterable[type[Run]], column: object) -> bool:
    """Return whether ``column`` is a setting of runs of any of ``families``."""
    name = str(column).split(".")[0]
    return name != "family" and any(name in family.model_fields for family in families)


def groups_of_families(families: Iterable[type[Run]]) -> list[str]:
    """Return the config groups of runs of ``families``: a series that differs in one alone is called by its member."""
    return list(dict.fromkeys(group for family in families for group in family.groups()))


def metric_of(families: Iterable[type[Run]], name: str) -> Metric:
    """Return the meaning of ``name`` for runs of ``families``: a metric, the horizon, or a column of the user.

    Raises InputError for a metric that means several things.
    """
    if name == HORIZON:
        criteria = dict.fromkeys(criterion for family in families if (criterion := family.measures().criterion))
        return Metric(f"length up to which the {', or the '.join(criteria)}", "higher")
    if name == TRAINING_LOSS:
        return Metric("training loss", "lower", "log")
    meanings = {m.metrics[name] for family in families if name in (m := family.measures()).metrics}
    if len(meanings) > 1:
        each = "; ".join(sorted(metric.meaning for metric in meanings))
        raise InputError(f"metric={name}: has different meanings for these runs ({each}); {ONE_FAMILY}")
    return next(iter(meanings), Metric(name))


def primary_of(families: Iterable[type[Run]]) -> str:
    """Return the primary metric of runs of ``families``. Raises InputError if they have none in common."""
    names = {(m.primary, m.metrics[m.primary]): m.primary for m in (family.measures() for family in families)}
    if len(names) > 1:
        each = ", ".join(names.values())
        raise InputError(f"metric: must be given: the runs have no primary metric in common ({each}); {ONE_FAMILY}")
    return next(iter(names.values()))
