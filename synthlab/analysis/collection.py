"""All runs of a store as one table, in parts that fit into memory however many runs there are."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from synthlab.analysis.conditions import Condition, Where, check, conditions
from synthlab.analysis.tables import ENVIRONMENT, horizon_of, join_tags, make_table
from synthlab.config.base import config_of, kind_of
from synthlab.errors import DamagedRecord, OlderRecord, UnknownKind
from synthlab.storage.records import flatten
from synthlab.storage.store import Store

PART = 250  # number of runs in memory at a time
# Columns before and after the settings; metrics are last.
FIRST, LAST = ("id", "kind", "status", "weights", "tag", *ENVIRONMENT), ("error", "diverged_at", "length")
TYPES = dict.fromkeys(("id", "kind", "status", "tag", "error", *ENVIRONMENT), "string") | {"weights": "boolean"}
TYPES |= dict.fromkeys(("diverged_at", "length"), "Int64")


@dataclass
class Collection:
    """The runs of a store that fulfil conditions: a row for each run and test length.

    The constructor reads every config, and one record of each kind of runs. This decides which runs there are, which
    columns they have (``kinds``: pandas' type by name) and which conditions can be checked without their numbers.
    ``damaged`` collects a line for each record that cannot be read, here and in ``parts``; ``unknown`` counts the
    records of each unknown kind. Raises InputError for a condition on a column that no run has.
    """

    store: Store
    where: Where = None
    kinds: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def __post_init__(self) -> None:
        asked = conditions(self.where)
        settings: dict[str, set[type]] = {}
        self._recorded, self._failed = [], []
        by_kind: dict[str, list[str]] = {}
        # By run: conditions on settings that its config lacks, or on metrics.
        open_conditions: dict[str, list[Condition]] = {}
        of_runs = [condition for condition in asked if condition.column not in (*LAST, "status")]
        of_status = [condition for condition in asked if condition.column == "status"]
        for folder, found in (("runs", self._recorded), ("failed", self._failed)):
            for identity, config in self._configs(folder):
                tag = join_tags(self.store.tags.get(identity, ()))
                known = {"id": identity, "kind": config["kind"], "tag": tag, **flatten(config)}
                for name, value in known.items():
                    settings.setdefault(name, set()).add(type(value))
                by_kind.setdefault(config["kind"], []).extend([identity] * (folder == "runs"))
                status = ("failed",) if folder == "failed" else ("finished", "diverged")
                possible = all(any(map(condition.holds, status)) for condition in of_status)
                if possible and all(c.holds(known[c.column]) for c in of_runs if c.column in known):
                    found.append(identity)
                    open_conditions[identity] = [c for c in of_runs if c.column not in known]
        for found in (self._recorded, self._failed):
            found[:] = [i for i in found if all(c.holds(None) for c in open_conditions[i] if c.column in settings)]
        names = [name for name in settings if name not in FIRST]
        measured = {name: of for kind, ids in by_kind.items() for name, of in self._metrics(kind, ids).items()}
        self.kinds = {name: TYPES.get(name) or _kind(settings[name]) for name in (*FIRST, *names)}
        self.kinds |= {name: TYPES[name] for name in LAST} | measured
        if settings:
            for condition in asked:
                check(condition, self.kinds)
        self._of_rows: list[Condition] = [condition for condition in asked if condition.column not in settings]

    def parts(self) -> Iterator[pd.DataFrame]:
        """Yield the table in parts, all with the same columns of the same types; runs are sorted by identity."""
        for start in range(0, len(self._recorded), PART):
            identities = self._recorded[start : start + PART]
            yield from self._part(
                make_table([record for i in identities if (record := self._try_read(self.store.read, i))])
            )
        failures = [row for i in self._failed if (row := self._try_read(self._failure, i))]
        yield from self._part(pd.DataFrame(failures))

    def table(self) -> pd.DataFrame:
        """Return the whole table, empty if no run is found. Columns without any value are left out."""
        parts = list(self.parts())
        if not parts:
            return pd.DataFrame()
        whole = pd.concat(parts, ignore_index=True)
        spare = [name for name in ("error", "diverged_at") if whole[name].isna().all()]
        return whole.drop(columns=spare)

    def unknown_lines(self) -> list[str]:
        """Return a line for each unknown kind, whose records are left out."""
        return [f"unknown kind: {line}: {number} records left out" for line, number in self.unknown.items()]

    def _configs(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for identity in self.store.ids(folder):
            config = self._try_read(self._config, identity, folder)
            if config is not None:
                yield identity, config

    def _config(self, identity: str, folder: str) -> dict[str, Any]:
        """Return the config of a run, under the present names of its settings."""
        raw = self.store.config(identity, folder)
        with suppress(AttributeError, KeyError, TypeError, ValueError):  # a damaged config can raise any of these
            config = config_of(raw)
            if config.id == identity:
                return config.model_dump()
        read = self.store.read if folder == "runs" else self.store.read_failure
        return read(identity).config.model_dump()  # raises: it is damaged, older or of another kind

    def _try_read(self, read: Callable[..., Any], identity: str, *more: str) -> Any:
        """Return what ``read`` returns; None if it cannot be read, which is recorded unless it is merely older."""
        try:
            return read(identity, *more)
        except OlderRecord:
            pass
        except UnknownKind as error:
            self.unknown[str(error)] += 1
        except DamagedRecord as error:
            self.damaged[identity] = str(error)
        return None

    def _metrics(self, kind: str, identities: Iterable[str]) -> dict[str, str]:
        """Return the metrics of runs of one kind: pandas' type by name.

        They are those of the first finished run, or of the kind if there is none.
        """
        for identity in identities:
            record = self._try_read(self.store.read, identity)
            if record is not None and record.diverged_at is None:
                names = [name for name in record.metrics if name != "length"]
                return dict.fromkeys(names, "float64") | dict.fromkeys(horizon_of(record), "Int64")
        return dict.fromkeys(kind_of({"kind": kind}).measures().metrics, "float64")

    def _failure(self, identity: str) -> dict[str, Any]:
        failure = self.store.read_failure(identity)
        about = {"id": identity, "kind": failure.config.kind, "status": "failed", "weights": False}
        about["tag"] = join_tags(self.store.tags.get(identity, ()))
        about |= {name: failure.environment.get(name) for name in ENVIRONMENT}
        return about | flatten(failure.config.model_dump()) | {"error": failure.error}

    def _part(self, rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
        if rows.empty:
            return
        rows = rows.reindex(columns=list(self.kinds)).astype(self.kinds)
        for condition in self._of_rows:
            rows = rows[condition.mask(rows[condition.column])]
        if len(rows):
            self.runs += rows["id"].nunique()
            yield rows


def _kind(types: set[type]) -> str:
    """Return pandas' type for values of all of ``types``."""
    types = types - {type(None)}
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "Int64"
    return "float64" if types and types <= {int, float} else "string"
