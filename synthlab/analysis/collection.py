"""All runs of a store as one table, in parts that fit into memory however many runs there are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synthlab.analysis.conditions import Condition, Where, check, conditions
from synthlab.analysis.tables import ENVIRONMENT, join_tags
from synthlab.config.base import kind_of
from synthlab.errors import DamagedRecord, OlderRecord, UnknownKind
from synthlab.storage.files import parse_json
from synthlab.storage.records import COLUMNS, SEEDS, Failure, flatten, read_lists
from synthlab.storage.store import Store

PART = 2048  # number of runs in memory at a time
# Columns before and after the settings; metrics are last.
FIRST, LAST = ("id", "kind", "status", "weights", "tag", *ENVIRONMENT), ("error", "diverged_at", "length")
TYPES = dict.fromkeys(("id", "kind", "status", "tag", "error", *ENVIRONMENT), "string") | {"weights": "boolean"}
TYPES |= dict.fromkeys(("diverged_at", "length", *SEEDS), "Int64")


@dataclass
class Collection:
    """The runs of a store that fulfil conditions: a row for each run and test length.

    The constructor reads all settings, each text once, and decides which columns there are (``kinds``: pandas' type by
    name). ``unknown`` counts the records of each unknown kind. Raises InputError for a condition on a column that no
    run has.
    """

    store: Store
    where: Where = None
    kinds: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def __post_init__(self) -> None:
        self._settings: dict[str, dict[str, Any]] = {}  # by dotted key, for each text of settings
        self._versions: dict[str, int] = {}  # the results version of each kind; records of others are left out
        self._damaged_failures: list[str] = []
        examples: dict[str, str] = {}  # a run of each kind, a finished one if there is any
        for rows in self.store.rows(None, ["id", "kind", "results_version", "status", "settings"]):
            groups = rows.group_by(["kind", "results_version", "settings", "status"]).aggregate([("id", "list")])
            for row in groups.to_pylist():
                kind = row["kind"]
                if self._is_known(kind, len(row["id_list"])) and row["results_version"] == self._versions[kind]:
                    self._settings.setdefault(row["settings"], flatten(parse_json(row["settings"])))
                    if row["status"] == "finished" or kind not in examples:
                        examples[kind] = row["id_list"][0]
        self._failures = list(self._read_failures())
        types: dict[str, set[type]] = {}
        every = [self._settings[text] for text in sorted(self._settings)]  # so that columns have one order
        for settings in (*every, *(flatten(each.config.model_dump()) for each in self._failures)):
            for name, value in settings.items():
                types.setdefault(name, set()).add(type(value))
        self._names = {name: TYPES.get(name) or _kind(found) for name, found in types.items()}
        kinds = {*examples, *(each.config.kind for each in self._failures)}
        of_kind = {kind: kind_of({"kind": kind}).measures() for kind in sorted(kinds)}
        metrics: list[str] = []
        for kind, measures in of_kind.items():
            example = self.store.rows([examples[kind]], ["metrics"]) if kind in examples else ()
            metrics += [each.name for rows in example for each in rows.schema.field("metrics").type] or measures.metrics
        self._measured = dict.fromkeys(["length", *metrics], "float64") | {"length": "Int64"}
        self.kinds = {name: TYPES[name] for name in FIRST} | self._names | {name: TYPES[name] for name in LAST}
        self.kinds |= self._measured
        if any(measures.horizon for measures in of_kind.values()):
            self.kinds["horizon"] = "Int64"
        asked = conditions(self.where)
        for condition in asked if types else ():
            check(condition, self.kinds)
        self._of_rows = [each for each in asked if each.column in self._measured and each.column not in types]
        self._of_runs = [each for each in asked if each not in self._of_rows]

    @property
    def damaged(self) -> list[str]:
        """A line for each damaged file that was found so far."""
        return [*self.store.damage_lines(), *self._damaged_failures]

    def parts(self) -> Iterator[pd.DataFrame]:
        """Yield the table in parts, all with the same columns of the same types."""
        chosen = None
        if self._of_runs:  # only the numbers of these are read
            runs = map(self._make_runs, self._batches(None))
            chosen = [identity for part in runs for identity in _select(part, self._of_runs)["id"]]
        for rows in self._batches(chosen, "metrics"):
            lists = read_lists(rows, "metrics")
            sizes = np.diff(lists.ends)
            lines = np.repeat(np.arange(len(rows)), np.maximum(sizes, 1))  # a run that diverged has one line too
            there = np.flatnonzero(sizes[lines])
            measured = pd.DataFrame(lists.columns, index=there).reindex(range(len(lines)))
            yield from self._join(self._make_runs(rows), lines, measured)
        failed = self._type(pd.DataFrame([self._make_row(each) for each in self._failures]))
        failed = _select(failed, self._of_runs)
        yield from self._join(failed, np.arange(len(failed)), pd.DataFrame(index=range(len(failed))))

    def table(self) -> pd.DataFrame:
        """Return the whole table, sorted by identity, empty if no run is found. Columns without values are left out."""
        parts = list(self.parts())
        if not parts:
            return pd.DataFrame()
        whole = pd.concat(parts, ignore_index=True).sort_values("id", kind="stable", ignore_index=True)
        spare = [name for name in ("error", "diverged_at") if whole[name].isna().all()]
        return whole.drop(columns=spare)

    def unknown_lines(self) -> list[str]:
        """Return a line for each unknown kind, whose records are left out."""
        return [f"unknown kind: {line}: {number} records left out" for line, number in self.unknown.items()]

    def _is_known(self, kind: str, number: int) -> bool:
        """Return True for a known kind of runs; else count its records."""
        try:
            self._versions[kind] = kind_of({"kind": kind}).results_version
        except UnknownKind as error:
            self.unknown[str(error)] += number
        return kind in self._versions

    def _read_failures(self) -> Iterator[Failure]:
        failed = self.store.ids("failed")
        recorded = self.store.find_recorded(dict.fromkeys(failed))
        for identity in (identity for identity in failed if identity not in recorded):
            try:
                yield self.store.read_failure(identity)
            except OlderRecord:
                pass
            except UnknownKind as error:
                self.unknown[str(error)] += 1
            except DamagedRecord as error:
                self._damaged_failures.append(str(error))

    def _batches(self, asked: Sequence[str] | None, *more: str) -> Iterator[pa.Table]:
        """Yield rows of known kinds and present results versions, up to ``PART`` at once if they have one schema."""
        held: list[pa.Table] = []
        for rows in self.store.rows(asked, [*COLUMNS, *more]):
            versions = zip(rows["kind"].to_pylist(), rows["results_version"].to_pylist(), strict=True)
            present = [self._versions.get(kind) == version for kind, version in versions]
            rows = rows.filter(pa.array(present, pa.bool_()))
            if held and (held[0].schema != rows.schema or sum(map(len, held)) + len(rows) > PART):
                yield pa.concat_tables(held)
                held = []
            held.append(rows)
        if held:
            yield pa.concat_tables(held)

    def _make_runs(self, rows: pa.Table) -> pd.DataFrame:
        """Return a row for each run, without what is measured by length."""
        codes, texts = _encode(rows["settings"])
        settings = pd.DataFrame([self._settings[text] for text in texts]).reindex(columns=list(self._names))
        runs = settings.astype(self._names).take(codes).reset_index(drop=True)
        codes, texts = _encode(rows["environment"])
        environments = [parse_json(text) for text in texts]
        columns: dict[str, Any] = {name: rows[name].to_pylist() for name in ("id", "kind", "status")}
        columns |= {name: _integers(rows[name]) for name in ("diverged_at", "horizon", *SEEDS) if name in self.kinds}
        columns |= {name: [environments[code].get(name) for code in codes] for name in ENVIRONMENT}
        columns["tag"] = [join_tags(self.store.tags.get(identity, ())) for identity in columns["id"]]
        return self._type(runs.assign(**columns, weights=[len(each) > 0 for each in rows["weights"].to_pylist()]))

    def _make_row(self, failure: Failure) -> dict[str, Any]:
        about = {"id": failure.config.id, "kind": failure.config.kind, "status": "failed", "weights": False}
        about["tag"] = join_tags(self.store.tags.get(failure.config.id, ()))
        about |= {name: failure.environment.get(name) for name in ENVIRONMENT}
        return about | flatten(failure.config.model_dump()) | {"error": failure.error}

    def _type(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the table with the columns of runs, each of its type."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in self._measured}
        return runs.reindex(columns=list(kinds)).astype(kinds)

    def _join(self, runs: pd.DataFrame, lines: np.ndarray, measured: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """Yield the lines that fulfil the conditions: each what is ``measured``, and the run whose it is."""
        measured = _select(measured.reindex(columns=list(self._measured)).astype(self._measured), self._of_rows)
        if len(measured):
            lines = lines[measured.index]
            self.runs += len(np.unique(lines))
            parts = [part.reset_index(drop=True) for part in (runs.take(lines), measured)]
            yield pd.concat(parts, axis="columns")[list(self.kinds)]


def _select(table: pd.DataFrame, asked: Iterable[Condition]) -> pd.DataFrame:
    for condition in asked if len(table) else ():
        table = table[condition.mask(table[condition.column])]
    return table


def _encode(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return the different values of a column of text, and for each row the place of its value."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def _integers(column: pa.ChunkedArray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(column.fill_null(0).to_numpy(), column.is_null().to_numpy())


def _kind(types: set[type]) -> str:
    """Return pandas' type for values of all of ``types``."""
    types = types - {type(None)}
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "Int64"
    return "float64" if types and types <= {int, float} else "string"
