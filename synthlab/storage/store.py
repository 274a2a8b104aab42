"""The store: the records below one folder or address, and the other files of a sweep.

``runs/NAME.parquet`` holds the runs of an ensemble, ``weights/NAME.safetensors`` their weights, ``failed/ID.json`` the
error of a failed run, ``tags/TAG/*.txt`` the runs that have a tag, ``leases/`` the runs that are training now,
``damaged/`` files that were found damaged, ``sweeps/`` a folder for each sweep.

Files of records never change. If several have the same run, the latest counts: it has more weights. A file's name has
the time at which it was written, and ends with its checksum, which is compared each time the file is read.
"""

import hashlib
import re
import secrets
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synthlab.errors import DamagedRecord, InputError, OlderRecord, StoreError, UnknownFamily, format_error
from synthlab.runs.registry import show
from synthlab.runs.run import Run
from synthlab.storage.files import DIGITS, Folder, checksum, reason_of
from synthlab.storage.leases import Leases
from synthlab.storage.records import (
    NESTED,
    Failure,
    Record,
    decode_failure,
    encode,
    encode_failure,
    read_ids,
    to_record,
)
from synthlab.storage.weights import check_save, read_slice, stack_weights, steps_to_keep

IDENTITY = re.compile("[0-9a-f]{16}")
NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}-[0-9a-f]{16}\.parquet")
TAG = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
RESUMED = "finished runs are kept, the same command goes on from there"
DAMAGED = "damaged (it does not have its checksum); a sweep that asks for its runs trains them anew"
OTHER_NUMBERS = "trained again for its weights, it gives other numbers than recorded; give another results folder"
STALE = 3600  # seconds after which an incomplete file must belong to an interrupted process
BATCH = 256  # rows that are turned into records at a time


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
    """The records below one folder or address, by identity.

    With ``save`` (``weights.py``), weights are saved too: a finished run without them then counts as not recorded.
    With a ``tag``, every record that is written or passed to ``mark`` is tagged. ``leases`` tells which process trains
    which run. ``damaged`` has the path of each file that was found damaged.

    Raises InputError for an invalid root, ``save`` or ``tag``.
    """

    def __init__(self, root: Any, save: Any = None, tag: Any = None):
        self.save, self.tag = check_save(save), check_tag(tag)
        self.files = Folder(root)
        self.leases = Leases(self.files.local and self.files.local / "leases")
        self.damaged: set[str] = set()
        self._ids: dict[str, np.ndarray] = {}  # the runs in each file of records, as numbers, oldest file first
        self._saved: set[str] = set()  # the files of weights
        self._sound: set[str] = set()  # those of them whose checksums have been compared

    def __reduce__(self):
        return _open_once, (self.files.address, self.save, self.tag)

    @property
    def root(self) -> Path:
        """The folder. Raises InputError for an object store, where only records can be stored."""
        if self.files.local is None:
            raise InputError(f"results={self.files.address}: must be a folder of this machine here")
        return self.files.local

    def path(self, identity: str) -> str:
        """Return the path of the file that has the record called ``identity``, for messages."""
        return self.files.path(f"runs/{next(iter(self._find([identity])), '')}")

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

    def ids(self, folder: str = "runs") -> list[str]:
        """Return the identities of all records (or of the failed runs: ``failed``), sorted."""
        if folder == "runs":
            return sorted(identity for ids in self._find().values() for identity in _to_texts(ids))
        names = [name.removesuffix(".json") for name in self._names("failed")]
        return [name for name in names if IDENTITY.fullmatch(name)]

    def holds(self, config: Run) -> bool:
        """Return True if this run has been recorded, with its weights if these are saved."""
        return bool(self.find_recorded({config.id: config}))

    def find_recorded(self, asked: Mapping[str, Run]) -> set[str]:
        """Return the identities of those runs that have been recorded, as ``holds`` tells for one."""
        if self.save is None:
            return {identity for ids in self._find(asked).values() for identity in _to_texts(ids)}
        rows = self._rows(asked, ["id", "status", "weights_file", "weights"])
        return {row["id"] for row in rows if self._has_weights(row, asked[row["id"]])}

    def steps(self, config: Run) -> list[int]:
        """Return the steps after which weights of this run are saved. Raises InputError if they cannot be."""
        return steps_to_keep(self.save, config)

    def read(self, identity: str) -> Record:
        """Return the record called ``identity``.

        Raises:
            InputError: There is no such record, or it is damaged (DamagedRecord) or outdated (OlderRecord).
            UnknownFamily: Its kind is unknown.
        """
        for row in self._rows([identity]):
            return self._to_record(row)
        if self.damaged:
            raise DamagedRecord(*self.damage_lines())
        raise InputError(f"results={self.files.address}: there is no such record: {show(identity)}")

    def read_all(self, asked: Collection[str] | None = None) -> Iterator[Record]:
        """Yield those of the runs ``asked`` that have been recorded, with their weights if these are saved.

        Without ``asked``, yield all of the present results versions. Damaged files are left out, and added to
        ``damaged``. Raises UnknownFamily.
        """
        for row in self._rows(asked):
            with suppress(OlderRecord):
                record = self._to_record(row)
                if self._has_weights(row, record.config):
                    yield record

    def rows(self, asked: Collection[str] | None = None, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of the runs ``asked``, or of all, a file at a time; each run once.

        Damaged files are left out, and added to ``damaged``.
        """
        for name, ids in self._find(asked).items():
            with suppress(FileNotFoundError, DamagedRecord):  # another sweep may move a damaged file
                data = pa.BufferReader(self._read(name))
                places = np.flatnonzero(np.isin(read_ids(data), ids))
                file = pq.ParquetFile(data)
                groups = np.unique(places // file.metadata.row_group(0).num_rows)
                rows = file.read_row_groups(groups.tolist(), columns, use_threads=False)
                yield rows.filter(pc.is_in(rows["id"], pa.array(_to_texts(ids)))) if len(ids) < len(rows) else rows

    def damage_lines(self) -> list[str]:
        """Return a line for each damaged file that was found."""
        return [f"{self.files.path(path)}: {DAMAGED}" for path in sorted(self.damaged)]

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each run that has any, by identity: as first read, plus those written by this store since."""
        tags: dict[str, set[str]] = defaultdict(set)
        for tag in filter(TAG.fullmatch, self._names("tags")):
            for name in (name for name in self._names(f"tags/{tag}") if name.endswith(".txt")):
                with self._catch_read_errors():
                    text = self.files.read(f"tags/{tag}/{name}").decode(errors="replace")
                for identity in text.split():
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
                self.files.write(f"tags/{self.tag}/{checksum(data)}.txt", data)
        for identity in new:
            self.tags[identity] = tuple(sorted((*self.tags.get(identity, ()), self.tag)))

    def write(self, *records: Record) -> None:
        """Save records, those of one shape in one file. Recorded runs stay as they are, but may get weights.

        A run that was trained again for its weights, but gives other numbers than recorded, counts as failed. Raises
        StoreError if records cannot be written.
        """
        asked = {record.config.id: record for record in records}
        recorded = {row["id"]: row for row in self._rows(asked)}
        groups: dict[Any, list[Record]] = defaultdict(list)
        for identity, record in asked.items():
            if identity in recorded:
                if self._has_weights(recorded[identity], record.config):
                    continue
                before = self._to_record(recorded[identity])
                if not _have_same_numbers(before, record):
                    self.write_failure(Failure(record.config, OTHER_NUMBERS, OTHER_NUMBERS, record.environment))
                    continue
                record = replace(before, weights=dict(sorted({**before.weights, **record.weights}.items())))
            groups[record.config.family, record.config.shape, tuple(record.weights)].append(record)
        for group in groups.values():
            self._write_group(group)
        self.mark(asked)

    def _write_group(self, group: list[Record]) -> None:
        began, weights_file = f"{time.time_ns():016x}-{secrets.token_hex(4)}", None
        with self.catch_write_errors():
            if group[0].weights:
                data = stack_weights([{step: read() for step, read in each.weights.items()} for each in group])
                weights_file = f"{began}-{checksum(data)}.safetensors"
                self.files.write(f"weights/{weights_file}", data)
            data = encode(group, weights_file)
            self.files.write(f"runs/{began}-{checksum(data)}.parquet", data)

    def write_failure(self, failure: Failure) -> None:
        """Save why a run failed, replacing an earlier failure. Raises StoreError if it cannot be written."""
        with self.catch_write_errors():
            self.files.write(f"failed/{failure.config.id}.json", encode_failure(failure))
        self.mark([failure.config.id])

    def read_failure(self, identity: str) -> Failure:
        """Return why the run called ``identity`` failed. Raises as ``read`` does."""
        path = f"failed/{identity}.json"
        with self._catch_read_errors():
            try:
                return decode_failure(self.files.read(path))
            except (OlderRecord, UnknownFamily):
                raise
            except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
                raise DamagedRecord(f"{self.files.path(path)}: damaged ({format_error(error)})") from None

    def failure(self, config: Run) -> Failure | None:
        """Return why this run failed; None if it did not, or if its failure can no longer be read."""
        with suppress(InputError):
            return self.read_failure(config.id)
        return None

    def forget_failure(self, config: Run) -> None:
        """Remove the failure of a run, so that it can be tried again."""
        with self.catch_write_errors():
            self.files.remove(f"failed/{config.id}.json")

    def set_aside(self, path: str) -> str:
        """Move a damaged file to ``damaged/``; return its new place."""
        aside = f"damaged/{path.rpartition('/')[2]}"
        with self.catch_write_errors(), suppress(FileNotFoundError):  # another sweep was faster
            self.files.write(aside, self.files.read(path))
            self.files.remove(path)
        self.damaged.discard(path)
        return self.files.path(aside)

    @contextmanager
    def catch_write_errors(self, hint: str = RESUMED) -> Iterator[None]:
        """Turn an OSError into one line that names the results folder, with ``hint`` at its end."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"results={self.files.address}: cannot be written ({reason_of(error)}); {hint}") from None

    @contextmanager
    def _catch_read_errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(f"results={self.files.address}: cannot be read ({reason_of(error)})") from None

    def _names(self, folder: str) -> list[str]:
        with self._catch_read_errors():
            return self.files.names(folder)

    def _find(self, asked: Collection[str] | None = None) -> dict[str, np.ndarray]:
        """Return the runs ``asked``, or all, by file, as numbers: each run in its latest file."""
        names = self._names("runs")
        self._saved = {*self._names("weights")}
        if any(map(IDENTITY.fullmatch, names)):
            rewrite = f"python -m experiments.rewrite_records {self.files.address}"
            raise InputError(
                f"results={self.files.address}: holds records of an earlier layout; {rewrite} rewrites them"
            )
        found: dict[str, np.ndarray] = {}
        for name in (name for name in names if NAME.fullmatch(name) and f"runs/{name}" not in self.damaged):
            with suppress(FileNotFoundError, DamagedRecord):
                found[name] = self._ids[name] if name in self._ids else self._read_ids(name)
        self._ids = found
        every = np.concatenate([np.empty(0, np.uint64), *found.values()])
        places = len(every) - 1 - np.unique(every[::-1], return_index=True)[1]
        if asked is not None:
            numbers = np.array([int(each, 16) for each in asked if IDENTITY.fullmatch(each)], np.uint64)
            places = places[np.isin(every[places], numbers)]
        places.sort()
        ends = np.cumsum([len(ids) for ids in found.values()], dtype=int)
        parts = np.split(every[places], np.searchsorted(places, ends))
        return {name: ids for name, ids in zip(found, parts, strict=False) if len(ids)}

    def _read_ids(self, name: str) -> np.ndarray:
        """Return the runs in a file of records, from its footer. Raises as ``_read`` does."""
        try:
            with self.files.open(f"runs/{name}") as file:
                return read_ids(file)
        except Exception:  # of damaged bytes, or of the disk
            self._read(name)
            raise

    def _read(self, name: str) -> bytes:
        """Return a file of records. Raises DamagedRecord, StoreError or FileNotFoundError."""
        with self._catch_read_errors():
            data = self.files.read(f"runs/{name}")
        if checksum(data) != _checksum_in(name):
            raise self._note_damage(f"runs/{name}")
        return data

    def _fetch_weights(self, file: str) -> str:
        """Return the path, on this machine, of a file of weights. Raises as ``_read`` does."""
        with self._catch_read_errors():
            path = self.files.fetch(f"weights/{file}")
            if file not in self._sound:
                with open(path, "rb") as opened:
                    found = hashlib.file_digest(opened, "sha256").hexdigest()[:DIGITS]
                if found != _checksum_in(file):
                    raise self._note_damage(f"weights/{file}")
                self._sound.add(file)
        return path

    def _load(self, file: str, index: int, step: int) -> bytes:
        """Return the weights of a model. Raises DamagedRecord, or InputError if they were removed."""
        try:
            return read_slice(self._fetch_weights(file), step, index)
        except FileNotFoundError:
            where = self.files.path(f"weights/{file}")
            raise InputError(f"{where}: was removed after its record was read") from None

    def _note_damage(self, path: str) -> DamagedRecord:
        self.damaged.add(path)
        return DamagedRecord(f"{self.files.path(path)}: {DAMAGED}")

    def _rows(self, asked: Collection[str] | None, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        for part in self.rows(asked, columns):
            for batch in part.to_batches(max_chunksize=BATCH):
                yield from batch.to_pylist()

    def _to_record(self, row: Mapping[str, Any]) -> Record:
        file, index = row["weights_file"], row["weights_index"]
        steps = row["weights"] if file in self._saved else []
        weights = {step: partial(self._load, file, index, step) for step in steps}
        return to_record(row, weights, self.tags.get(row["id"], ()))

    def _has_weights(self, row: Mapping[str, Any], config: Run) -> bool:
        """Return True if a row has the weights that are to be saved, undamaged. A diverged run has none."""
        if self.save is None or row["status"] == "diverged":
            return True
        if row["weights_file"] in self._saved and {*self.steps(config)} <= {*row["weights"]}:
            with suppress(FileNotFoundError, DamagedRecord):
                return bool(self._fetch_weights(row["weights_file"]))
        return False


@cache
def _open_once(root: str, save: Any, tag: str | None) -> Store:
    """Return the store that was pickled: one in each process, which keeps what it knows of the files."""
    return Store(root, save, tag)


def _to_texts(ids: np.ndarray) -> list[str]:
    return [f"{each:016x}" for each in ids.tolist()]


def _checksum_in(name: str) -> str:
    return name.partition(".")[0].rpartition("-")[2]


def _have_same_numbers(one: Record, other: Record) -> bool:
    for name in NESTED:
        a, b = (getattr(record, name) for record in (one, other))
        if (a is None) != (b is None) or (a is not None and not a.astype(float).equals(b.astype(float))):
            return False
    return one.diverged_at == other.diverged_at
