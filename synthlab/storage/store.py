"""The store: the records below one folder or address, and the other files of a sweep.

``runs/NAME.parquet`` holds the runs of an ensemble, ``weights/*.safetensors`` their weights, ``failed/ID.json`` the
error of a failed run, ``tags/TAG/*.txt`` the runs that have a tag, ``claims/`` the runs that are training now,
``damaged/`` files that were found damaged, ``sweeps/`` a folder for each sweep.

Files of records never change. If several have the same run, the latest counts: it has more weights. Many small files
are merged into one. A file's name has the time at which it was written and a checksum of its footer.
"""

import hashlib
import json
import re
import secrets
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synthlab.config.base import Config
from synthlab.config.registry import show
from synthlab.config.sources import own_classes, without_sources
from synthlab.errors import DamagedRecord, InputError, OlderRecord, StoreError, format_error
from synthlab.storage.claims import Claims
from synthlab.storage.files import Folder, reason_of
from synthlab.storage.records import (
    Damaged,
    Failure,
    Record,
    SavedWeights,
    check_group,
    decode_failure,
    encode_failure,
    encode_table,
    is_damage,
    nested_columns,
    open_table,
    read_ids,
    restore_settings,
    to_records,
    to_table,
)
from synthlab.storage.weights import (
    Values,
    check_save,
    hash_weights,
    layout,
    read_slice,
    read_weights,
    stack_weights,
    steps_to_keep,
    write_weights,
)

IDENTITY = re.compile("[0-9a-f]{16}")
NAME = re.compile(r"([0-9a-f]{16})-[0-9a-f]{8}-([0-9a-f]{16})\.parquet")
TAG = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
RESUMED = "finished runs are kept, the same command goes on from there"
ANEW = "a sweep that asks for its runs trains them anew"
FEW, MANY = 4096, 256  # the rows of a file that counts as small; the number of small files that are merged
MOST = 16_384  # rows of a merged file
STALE = 3600  # seconds after which an incomplete file must belong to an interrupted process


def check_tag(tag: Any) -> str | None:
    """Return the tag ``tag`` as text; it may be an integer, as a command line reads ``tag=2024``.

    Raises InputError for anything that is not a valid folder name everywhere.
    """
    if tag is None:
        return None
    text = str(tag) if isinstance(tag, str | int) and not isinstance(tag, bool) else ""
    if not TAG.fullmatch(text):
        raise InputError(f"tag={show(tag)}: must be a name of letters, digits, _, - and ., and not begin with a dot")
    return text


class Store:
    """The records below one folder or address, by identity. Iterating reads those of the present results versions.

    With ``save`` (``weights.py``), weights are saved too: a finished run without them then counts as not recorded, and
    reading a record checks them. Without ``save`` they are read on demand. With a ``tag``, every record that is written
    or passed to ``mark`` is tagged. ``damaged`` has the reason for each file, by its path, that was found damaged.

    Raises InputError for an invalid root, ``save`` or ``tag``.
    """

    def __init__(self, root: Any, save: Any = None, tag: Any = None):
        self.save, self.tag = check_save(save), check_tag(tag)
        self.files = Folder(root)
        self.damaged: dict[str, str] = {}
        self._ids: dict[str, pa.Array] = {}  # the runs in each file of records, oldest file first
        self._saved: set[str] = set()  # the files of weights

    def __reduce__(self):
        save = tuple(self.save) if isinstance(self.save, list) else self.save
        return _open_once, (self.files.address, save, self.tag)

    @property
    def root(self) -> Path:
        """The folder. Raises InputError for an object store, where only records can be stored."""
        if self.files.local is None:
            raise InputError(f"results={self.files.address}: must be a folder of this machine here")
        return self.files.local

    @property
    def claims(self) -> Claims:
        """Which process trains which run."""
        return Claims(self.files.local and self.files.local / "claims")

    def exists(self) -> bool:
        """Return True if the folder exists. Raises StoreError."""
        with self._name_errors(self.files.address):
            return self.files.exists()

    def path(self, identity: str) -> str:
        """Return the path of the file that has the record called ``identity``, for messages."""
        return self.files.path(f"runs/{next(iter(self._places([identity])), '')}")

    def make_writable(self, folder: str = "runs") -> None:
        """Create ``folder`` below the root, and try to write to it. Raises InputError if that fails.

        Also removes incomplete files that interrupted processes left there long ago.
        """
        probe = f"{folder}/.probe-{secrets.token_hex(4)}"
        with self.catch_write_errors("give a folder"):
            self.files.write(probe, b"")
            self.files.remove(probe)
            for path in self.root.glob("*/.partial-*") if self.files.local else ():
                with suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime > STALE:
                        path.unlink()

    def check_shared(self) -> None:
        """Raise InputError unless other processes, such as workers, see this store."""
        if not self.files.is_shared:
            only = "is seen by no other process; give a folder, or workers=1"
            raise InputError(f"results={self.files.address}: {only}")

    def ids(self, folder: str = "runs") -> list[str]:
        """Return the identities of all records (or of the failed runs: ``failed``), sorted."""
        if folder == "runs":
            return sorted(self._find())
        with self._name_errors(self.files.address):
            names = [name.removesuffix(".json") for name in self.files.names("failed")]
        return [name for name in names if IDENTITY.fullmatch(name)]

    def __iter__(self) -> Iterator[Record]:
        for name, rows in self._parts():
            for row, restore in to_records(rows):
                with suppress(OlderRecord):
                    yield self._complete(name, row, restore)

    def holds(self, config: Config) -> bool:
        """Return True if this run has been recorded, with its weights if these are saved."""
        return bool(self.find_recorded({config.id: config}))

    def find_recorded(self, asked: Mapping[str, Any]) -> set[str]:
        """Return the identities of those runs that have been recorded, as ``holds`` tells for one."""
        if self.save is None:
            return self._find(asked)
        return {
            row["id"]
            for rows in self.rows(asked, ["id", "status", "weights_file", "weights"])
            for row in rows.to_pylist()
            if self._has_weights(row, asked[row["id"]])
        }

    def steps(self, config: Config) -> list[int]:
        """Return the steps after which weights of this run are saved. Raises InputError if they cannot be."""
        return steps_to_keep(self.save, config)

    def read(self, identity: str) -> Record:
        """Return the record called ``identity``.

        Raises:
            InputError: There is no such record, or it is damaged (DamagedRecord) or outdated (OlderRecord).
            UnknownKind: Its kind is unknown.
        """
        for name, rows in self._parts([identity]):
            for row, restore in to_records(rows):
                record = self._complete(name, row, restore)
                self._verify(record)
                return record
        for line in self.damage_lines():
            raise DamagedRecord(f"{line}; {ANEW}")
        raise InputError(f"results={self.files.address}: there is no such record: {show(identity)}")

    def read_all(self, asked: Collection[str]) -> Iterator[Record]:
        """Yield those of the runs ``asked`` that have been recorded, with their weights if these are saved.

        Damaged ones are left out, and their files added to ``damaged``. Raises OlderRecord and UnknownKind.
        """
        for name, rows in self._parts(asked):
            for row, restore in to_records(rows):
                with suppress(DamagedRecord):
                    record = self._complete(name, row, restore)
                    if self._has_weights(row, record.config):
                        self._verify(record)
                        yield record

    def rows(self, asked: Collection[str] | None = None, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of the runs ``asked``, or of all, in parts that fit into memory; each run once.

        Damaged parts are left out, and their files added to ``damaged``.
        """
        for _, rows in self._parts(asked, columns):
            yield rows

    def damage_lines(self) -> list[str]:
        """Return a line for each damaged file that was found."""
        return [f"{self.files.path(path)}: damaged ({reason})" for path, reason in self.damaged.items()]

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each run that has any, by identity: as first read, plus those written by this store since."""
        tags: dict[str, set[str]] = defaultdict(set)
        with self._name_errors(self.files.address):
            for tag in filter(TAG.fullmatch, self.files.names("tags")):
                for name in (name for name in self.files.names(f"tags/{tag}") if name.endswith(".txt")):
                    for identity in self.files.read(f"tags/{tag}/{name}").decode(errors="replace").split():
                        tags[identity].add(tag)
        return {identity: tuple(sorted(names)) for identity, names in tags.items()}

    def mark(self, identities: Iterable[str]) -> None:
        """Mark runs with the tag of this store, if it has one. Raises StoreError if it cannot be written."""
        if self.tag is None:
            return
        new = sorted(identity for identity in identities if self.tag not in self.tags.get(identity, ()))
        if new:
            data = "".join(f"{identity}\n" for identity in new).encode()
            with self.catch_write_errors():
                self.files.write(f"tags/{self.tag}/{hashlib.sha256(data).hexdigest()[:16]}.txt", data)
        for identity in new:
            self.tags[identity] = tuple(sorted((*self.tags.get(identity, ()), self.tag)))

    def write(self, *records: Record) -> None:
        """Save records, those of an ensemble in one file. Recorded runs stay as they are, but may get weights.

        Raises StoreError if they cannot be written; and for a run that was trained again for its weights, but gives
        other numbers than recorded. All others are then saved.
        """
        asked = {record.config.id: record for record in records}
        recorded = {
            row["id"]: (self._complete(name, row, restore), self._has_weights(row, asked[row["id"]].config))
            for name, rows in self._parts(asked)
            for row, restore in to_records(rows)
        }
        groups: dict[Any, list[tuple[str, Record, Any]]] = defaultdict(list)
        refused: list[str] = []
        for identity, record in asked.items():
            before, is_whole = recorded.get(identity, (None, False))
            if is_whole:
                continue
            weights = {step: read_weights(read()) for step, read in record.weights.items()}
            if before is not None:
                kept = self._read_sound(before)
                same = all(weights[step] == kept[step] for step in weights.keys() & kept.keys())
                if not (same and _have_same_numbers(before, record)):
                    refused.append(f"{self.path(identity)}: {_explain_difference(before, record)}")
                    continue
                if weights.keys() <= kept.keys():
                    continue
                record, weights = before, kept | weights
            weights = dict(sorted(weights.items()))
            groups[nested_columns(record), layout(weights)].append((identity, record, weights))
        for group in groups.values():
            self._write_group(group)
        if sum(len(ids) < FEW for ids in self._ids.values()) >= MANY:
            self.merge()
        self.mark(asked)
        if refused:
            raise StoreError(*refused)

    def write_failure(self, failure: Failure) -> None:
        """Save why a run failed, replacing an earlier failure.

        Raises StoreError if it cannot be written, or if the run is recorded and was trained again for its weights.
        """
        identity = failure.config.id
        if self.save is not None and self._find([identity]):
            why = f"training run {identity} again for its weights failed ({failure.error})"
            raise StoreError(f"{self.path(identity)}: {why}; the record stays as it is")
        with self.catch_write_errors():
            self.files.write(f"failed/{identity}.json", encode_failure(failure))
        self.mark([identity])

    def read_failure(self, identity: str) -> Failure:
        """Return why the run called ``identity`` failed. Raises as ``read`` does."""
        path = f"failed/{identity}.json"
        with self._name_errors(self.files.path(path)):
            return decode_failure(self.files.read(path), identity)

    def failure(self, config: Config) -> Failure | None:
        """Return why this run failed; None if it did not, or if its failure can no longer be read."""
        with suppress(InputError):
            return self.read_failure(config.id)
        return None

    def forget_failure(self, config: Config) -> None:
        """Remove the failure of a run, so that it can be tried again."""
        with self.catch_write_errors():
            self.files.remove(f"failed/{config.id}.json")

    def set_aside(self, path: str) -> str:
        """Move a damaged file to ``damaged/``; return its new place. Its sound rows are written anew."""
        reason, name = self.damaged.pop(path), path.rpartition("/")[2]
        aside = f"damaged/{secrets.token_hex(4)}-{name}"
        with self.catch_write_errors(), suppress(FileNotFoundError):  # another sweep was faster
            if (match := NAME.fullmatch(name)) is not None:
                self._write_tables(self._read(name), match[1])
            self.files.move(path, aside)
        self.damaged.pop(path, None)
        return f"{self.files.path(aside)} ({reason})"

    def merge(self) -> None:
        """Merge the small files of records into larger ones, and remove them."""
        with self.catch_write_errors(), self.claims.hold(["merging"]) as mine, suppress(FileNotFoundError):
            places = self._places()
            small = [name for name, ids in self._ids.items() if len(ids) < FEW and mine]
            parts = (part for name in small if name in places for part in self._read(name, places[name]))
            if small:  # of the time of the latest, since a file that is written meanwhile has later rows
                self._write_tables(parts, small[-1][:16])
            for name in small:
                if f"runs/{name}" not in self.damaged:
                    self.files.remove(f"runs/{name}")

    def count_other_sources(self, configs: Iterable[Config]) -> int:
        """Count those of the runs that are recorded with another source of a class of the user's own."""
        own = {
            _hash_plain(config.model_dump()): config.id for config in configs if any(own_classes(config.model_dump()))
        }
        others: set[str] = set()
        for rows in self.rows(None, ["id", "settings", *Config.SEEDS]) if own else ():
            for row in rows.to_pylist():
                if ":" in row["settings"]:
                    settings = restore_settings(row["settings"], {name: row[name] for name in Config.SEEDS})
                    plain = _hash_plain(settings) if any(own_classes(settings)) else ""
                    others |= {plain} if own.get(plain, row["id"]) != row["id"] else set()
        return len(others)

    @contextmanager
    def catch_write_errors(self, hint: str = RESUMED) -> Iterator[None]:
        """Turn an OSError into one line that names the results folder, with ``hint`` at its end."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"results={self.files.address}: cannot be written ({reason_of(error)}); {hint}") from None

    def _find(self, asked: Collection[str] | None = None) -> set[str]:
        """Return which of the runs, or of all, have a record."""
        places = self._places(asked).items()
        return {
            identity for name, numbers in places for identity in self._ids[name].take(pa.array(numbers)).to_pylist()
        }

    def _places(self, asked: Collection[str] | None = None) -> dict[str, np.ndarray]:
        """Return the rows of the runs ``asked``, or of all, by file: each run once, in its latest file."""
        self._scan()
        if not self._ids:
            return {}
        ends = np.cumsum([len(ids) for ids in self._ids.values()])
        table = pa.table({"id": pa.chunked_array(self._ids.values()), "row": np.arange(ends[-1])})
        if asked is not None:
            table = table.filter(pc.is_in(table["id"], pa.array(asked, pa.string())))
        latest = table.group_by("id", use_threads=False).aggregate([("row", "max")])["row_max"].to_numpy()
        parts = np.split(np.sort(latest), np.searchsorted(np.sort(latest), ends[:-1]))
        begins = [0, *ends[:-1]]
        return {name: part - begin for name, part, begin in zip(self._ids, parts, begins, strict=True) if len(part)}

    def _scan(self) -> None:
        """Read the identities in the files that were not there before."""
        with self._name_errors(self.files.address):
            names = self.files.names("runs")
            self._saved = {*self.files.names("weights")}
        if any(map(IDENTITY.fullmatch, names)):
            rewrite = f"python -m experiments.rewrite_records {self.files.address}"
            raise InputError(
                f"results={self.files.address}: holds records of an earlier layout; {rewrite} rewrites them"
            )
        found = {name: self._ids.get(name) for name in names if NAME.fullmatch(name)}
        self.damaged = {
            path: why for path, why in self.damaged.items() if path.rpartition("/")[2] in {*names, *self._saved}
        }
        for name in [name for name, ids in found.items() if ids is None and f"runs/{name}" not in self.damaged]:
            path = f"runs/{name}"
            # A file may be merged in the meantime.
            with suppress(FileNotFoundError), self._note_damage(path), self.files.open(path) as file:
                found[name] = read_ids(open_table(file, name[-24:-8]))
        self._ids = {name: ids for name, ids in found.items() if ids is not None}

    def _parts(
        self, asked: Collection[str] | None = None, columns: list[str] | None = None
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield what ``rows`` does, each part with the name of its file."""
        lost: list[str] = []
        for name, numbers in self._places(asked).items():
            ids = self._ids[name]
            try:
                for part in self._read(name, numbers, columns):
                    yield name, part
            except FileNotFoundError:  # merged in the meantime
                lost += ids.take(pa.array(numbers)).to_pylist()
        if lost:
            yield from self._parts(lost, columns)

    def _read(
        self, name: str, numbers: np.ndarray | None = None, columns: list[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield those rows of a file that are sound, by row group; ``numbers`` chooses rows, in order."""
        path = f"runs/{name}"
        with ExitStack() as stack:
            table: pq.ParquetFile | None = None
            with self._note_damage(path):
                file = stack.enter_context(self.files.open(path))
                table = open_table(file, name[-24:-8])
            if table is None:
                return
            begin = 0
            for group in range(table.num_row_groups):
                end = begin + table.metadata.row_group(group).num_rows
                chosen = None
                if numbers is not None:
                    chosen = numbers[(numbers >= begin) & (numbers < end)] - begin
                if chosen is None or len(chosen):
                    with self._note_damage(path):
                        check_group(table, file, group)
                        part = table.read_row_group(group, columns, use_threads=False).replace_schema_metadata(None)
                        yield part if chosen is None or len(chosen) == end - begin else part.take(pa.array(chosen))
                begin = end

    def _write_group(self, group: list[tuple[str, Record, Any]]) -> None:
        """Write records, with their weights by step, into one file each."""
        began, models = f"{time.time_ns():016x}", [weights for _, _, weights in group]
        saved: list[SavedWeights | None] = [None] * len(group)
        with self.catch_write_errors():
            if models[0]:
                file = f"{began}-{secrets.token_hex(4)}.safetensors"
                self.files.write(f"weights/{file}", stack_weights(models))
                sums = [{step: hash_weights(write_weights(each)) for step, each in model.items()} for model in models]
                saved = [SavedWeights(file, index, each) for index, each in enumerate(sums)]
            self._write_tables([to_table({identity: record for identity, record, _ in group}, saved)], began)

    def _write_tables(self, tables: Iterable[pa.Table], began: str) -> None:
        """Write rows, those of one schema into one file; ``began`` is their time."""
        by_schema: dict[pa.Schema, list[pa.Table]] = defaultdict(list)
        for table in tables:
            by_schema[table.schema].append(table)
        for parts in by_schema.values():
            whole = pa.concat_tables(parts)
            for begin in range(0, len(whole), MOST):
                data, checksum = encode_table(whole.slice(begin, MOST))
                self.files.write(f"runs/{began}-{secrets.token_hex(4)}-{checksum}.parquet", data)

    def _complete(self, name: str, row: Mapping[str, Any], restore: Any) -> Record:
        """Return the record in a row of the file ``name``, with its weights and tags. Raises DamagedRecord."""
        path = f"runs/{name}"
        try:
            record = restore()
        except Exception as error:
            if not is_damage(error) or isinstance(error, InputError):
                raise
            self.damaged[path] = str(error)
            raise DamagedRecord(f"{self.files.path(path)}: damaged ({error}); {ANEW}") from None
        file = row["weights_file"]
        saved = row["weights"] if file in self._saved else []
        load = partial(self._load, f"weights/{file}", row["weights_index"])
        weights = {each["step"]: partial(load, each["step"], each["sha256"]) for each in saved}
        return replace(record, weights=weights, tags=self.tags.get(row["id"], ()))

    def _load(self, path: str, index: int, step: int, checksum: str) -> bytes:
        """Return the weights of a model. Raises DamagedRecord, or InputError if they were removed."""
        try:
            with self.files.open(path) as file:
                data = read_slice(file, step, index)
            if hash_weights(data) != checksum:
                raise Damaged("its weights do not have their checksum")
            return data
        except FileNotFoundError:
            raise InputError(f"{self.files.path(path)}: was removed after its record was read") from None
        except Exception as error:
            if not is_damage(error):
                raise StoreError(f"{self.files.path(path)}: cannot be read ({reason_of(error)})") from None
            self.damaged[path] = format_error(error)
            raise DamagedRecord(f"{self.files.path(path)}: damaged ({format_error(error)}); {ANEW}") from None

    def _verify(self, record: Record) -> None:
        """Read the weights that this store saves, as far as they are there. Raises DamagedRecord."""
        steps = [*self.save, record.config.steps] if isinstance(self.save, list) else self.steps(record.config)
        for step in {*steps} & record.weights.keys():  # not all runs have the steps of a list
            record.weights[step]()

    def _read_sound(self, record: Record) -> dict[int, dict[str, Values]]:
        found: dict[int, dict[str, Values]] = {}
        for step, read in record.weights.items():
            with suppress(DamagedRecord):
                found[step] = read_weights(read())
        return found

    def _has_weights(self, row: Mapping[str, Any], config: Config) -> bool:
        """Return True if a row has the weights that are to be saved. A diverged run has none."""
        if self.save is None or row["status"] == "diverged":
            return True
        there = {each["step"] for each in row["weights"]} if row["weights_file"] in self._saved else set()
        return there >= {*self.steps(config)} and f"weights/{row['weights_file']}" not in self.damaged

    @contextmanager
    def _note_damage(self, path: str) -> Iterator[None]:
        """Add a damaged file to ``damaged``. Raises StoreError for an error of the disk or the network."""
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            if not is_damage(error):
                raise StoreError(f"{self.files.path(path)}: cannot be read ({reason_of(error)})") from None
            self.damaged[path] = format_error(error)

    @contextmanager
    def _name_errors(self, where: str) -> Iterator[None]:
        """Name the place in the errors of reading it."""
        try:
            yield
        except (Damaged, FileNotFoundError) as error:
            raise DamagedRecord(f"{where}: damaged ({error})") from None
        except OSError as error:
            raise StoreError(f"results={where}: cannot be read ({reason_of(error)})") from None


@cache
def _open_once(root: str, save: Any, tag: str | None) -> Store:
    """Return the store that was pickled: one in each process, which keeps what it knows of the files."""
    return Store(root, list(save) if isinstance(save, tuple) else save, tag)


def _hash_plain(settings: Mapping[str, Any]) -> str:
    """Return the same text for all sources of the classes that ``settings`` name."""
    return json.dumps(without_sources(settings), sort_keys=True)


def _have_same_numbers(one: Record, other: Record) -> bool:
    tables = [(getattr(one, name), getattr(other, name)) for name in ("metrics", "training", "outputs")]
    same = all(
        a is b or (a is not None and b is not None and a.astype(float).equals(b.astype(float))) for a, b in tables
    )
    return same and one.diverged_at == other.diverged_at


def _explain_difference(before: Record, again: Record) -> str:
    """Return why a run that was trained again may have other numbers: another machine or torch, else other code."""
    made, here = (_describe(each.environment) for each in (before, again))
    where = f"recorded with {made}; here {here}"
    if made == here:
        where = f"recorded with {made}, as here: the code of the lab, or what your classes import, is another since"
    gives = f"run {before.config.id}, trained again, gives other numbers ({where})"
    return f"{gives}; its weights cannot be added; give another results folder"


def _describe(environment: Mapping[str, Any]) -> str:
    return (
        f"torch {environment.get('torch')} on {environment.get('device')} {environment.get('instructions', '')}".strip()
    )
