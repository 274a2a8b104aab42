"""All runs of a store as one table, in parts that fit into memory however many runs there are."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthlab.analysis.conditions import Condition, Where, check, conditions
from synthlab.analysis.tables import ENVIRONMENT, join_tags
from synthlab.errors import UnknownFamily
from synthlab.runs.run import run_type
from synthlab.storage.records import COLUMNS, SEEDS, flatten
from synthlab.storage.store import Store

PART_RUNS = 2048  # number of runs in memory at a time
# Columns before and after the settings; metrics are last.
FIRST, LAST = ("id", "family", "status", "weights", "tag", *ENVIRONMENT), ("diverged_at", "length")
TYPES = dict.fromkeys(FIRST, "string") | {"weights": "boolean"}
TYPES |= dict.fromkeys((*LAST, *SEEDS), "Int64")


class Part(NamedTuple):
    """Some runs: a row of ``runs`` for each, and a row of ``measured`` for each run and length.

    ``places`` has the place in ``runs`` of each row of ``measured``. A run without a row there is left out.
    """

    runs: pd.DataFrame
    places: np.ndarray
    measured: pd.DataFrame


@dataclass
class Collection:
    """The recorded runs of a store that fulfil conditions: a row for each run and test length.

    The constructor reads all settings, each text once, and decides which columns there are (``kinds``: pandas' type by
    name). ``unknown`` counts the records of each unknown family. Raises InputError for a condition on a column that no
    run has.
    """

    store: Store
    where: Where = None
    kinds: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def __post_init__(self) -> None:
        texts: dict[str, dict[str, Any]] = {}  # settings by dotted key
        families: set[str] = set()
        for family, rows in self._present(["id", "family", "results_version", "settings"], self.unknown):
            families.add(family)
            for text in rows["settings"].unique().to_pylist():
                texts[text] = texts.get(text) or flatten(json.loads(text))
        types: dict[str, set[type]] = {}
        self._texts = sorted(texts)  # so that columns have one order
        every = [texts[text] for text in self._texts]
        for name, value in (item for settings in every for item in settings.items()):
            types.setdefault(name, set()).add(type(value))
        names = {name: TYPES.get(name) or _kind(found) for name, found in types.items()}
        self._settings = pd.DataFrame(every).reindex(columns=list(names)).astype(names)
        measures = [run_type(family).measures() for family in sorted(families)]
        metrics = dict.fromkeys(["length", *(name for each in measures for name in each.metrics)], "float64")
        self._measured = metrics | {"length": "Int64"}
        self.kinds = {name: TYPES[name] for name in FIRST} | names | {name: TYPES[name] for name in LAST}
        self.kinds |= self._measured
        if any(each.horizon for each in measures):
            self.kinds["horizon"] = "Int64"
        asked = conditions(self.where)
        for condition in asked if types else ():
            check(condition, self.kinds)
        self._of_rows = [each for each in asked if each.column in self._measured and each.column not in types]
        self._of_runs = [each for each in asked if each not in self._of_rows]

    @property
    def damaged(self) -> list[str]:
        """A line for each damaged file that was found so far."""
        return self.store.damage_lines()

    def read(self) -> Iterator[Part]:
        """Yield the runs in parts, all with the same columns of the same types; none is empty."""
        for rows in self._batches():
            runs = _select(self._make_runs(rows), self._of_runs)
            metrics = rows["metrics"].combine_chunks().take(pa.array(runs.index))
            lists = {each.name: pc.struct_field(metrics, each.name) for each in metrics.type}
            sizes = pc.list_value_length(lists["length"]).to_numpy()
            places = np.repeat(np.arange(len(runs)), np.maximum(sizes, 1))  # a run that diverged has one row too
            values = {name: pc.list_flatten(each).to_numpy() for name, each in lists.items()}
            measured = pd.DataFrame(values, index=np.flatnonzero(sizes[places]))
            measured = measured.reindex(range(len(places)), columns=list(self._measured)).astype(self._measured)
            measured = _select(measured, self._of_rows)
            if len(measured):
                places = places[measured.index]
                self.runs += len(np.unique(places))
                yield Part(runs, places, measured)

    def parts(self) -> Iterator[pd.DataFrame]:
        """Yield the table in parts, all with the same columns of the same types."""
        for runs, places, measured in self.read():
            parts = [part.reset_index(drop=True) for part in (runs.take(places), measured)]
            yield pd.concat(parts, axis="columns")[list(self.kinds)]

    def table(self) -> pd.DataFrame:
        """Return the whole table, sorted by identity; empty if no run is found."""
        parts = list(self.parts())
        if not parts:
            return pd.DataFrame()
        whole = pd.concat(parts, ignore_index=True).sort_values("id", kind="stable", ignore_index=True)
        return whole.drop(columns="diverged_at") if whole["diverged_at"].isna().all() else whole

    def warnings(self) -> list[str]:
        """Return a line on the damaged files that were found so far, and one for each unknown family."""
        lines = [f"{len(self.damaged)} damaged files are left out: {'; '.join(self.damaged)}"] * bool(self.damaged)
        return lines + self.unknown_lines()

    def unknown_lines(self) -> list[str]:
        """Return a line for each unknown family, whose records are left out."""
        return [f"unknown family: {line}: {number} records left out" for line, number in self.unknown.items()]

    def _present(self, columns: list[str], unknown: Counter[str]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of each file whose family is known, with it, and whose results version is the present one.

        Rows of unknown families are counted in ``unknown``. A file has runs of one family and version.
        """
        for rows in self.store.rows(None, columns):
            family = rows["family"][0].as_py()
            try:
                version = run_type(family).results_version
            except UnknownFamily as error:
                unknown[str(error)] += len(rows)
                continue
            if rows["results_version"][0].as_py() == version:
                yield family, rows

    def _batches(self) -> Iterator[pa.Table]:
        """Yield the rows of several files at once, up to ``PART_RUNS`` if they have one schema."""
        held: list[pa.Table] = []
        for _, rows in self._present([*COLUMNS, "metrics"], Counter()):
            if held and (held[0].schema != rows.schema or sum(map(len, held)) + len(rows) > PART_RUNS):
                yield pa.concat_tables(held)
                held = []
            held.append(rows)
        if held:
            yield pa.concat_tables(held)

    def _make_runs(self, rows: pa.Table) -> pd.DataFrame:
        """Return a row for each run, without what is measured by length."""
        places = pc.index_in(rows["settings"], pa.array(self._texts, pa.string())).to_numpy()
        environments = {text: json.loads(text) for text in rows["environment"].unique().to_pylist()}
        made = [environments[text] for text in rows["environment"].to_pylist()]
        columns: dict[str, Any] = {name: rows[name].to_pylist() for name in ("id", "family", "status")}
        for name in (name for name in ("diverged_at", "horizon", *SEEDS) if name in self.kinds):
            values = rows[name].fill_null(0).to_numpy(), rows[name].is_null().to_numpy()
            columns[name] = pd.arrays.IntegerArray(*values)
        columns |= {name: [each.get(name) for each in made] for name in ENVIRONMENT}
        columns["tag"] = [join_tags(self.store.tags.get(identity, ())) for identity in columns["id"]]
        columns["weights"] = pc.list_value_length(rows["weights"]).to_numpy() > 0
        kinds = {name: kind for name, kind in self.kinds.items() if name not in self._measured}
        runs = self._settings.take(places).reset_index(drop=True).assign(**columns)
        return runs.reindex(columns=list(kinds)).astype(kinds)


def _select(table: pd.DataFrame, asked: Iterable[Condition]) -> pd.DataFrame:
    for condition in asked if len(table) else ():
        table = table[condition.mask(table[condition.column])]
    return table


def _kind(types: set[type]) -> str:
    """Return pandas' type for values of all of ``types``."""
    types = types - {type(None)}
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "Int64"
    return "float64" if types and types <= {int, float} else "string"
