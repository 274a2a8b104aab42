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
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synthlab.errors import DamagedRecord, InputError, OlderRecord, StoreError, UnknownFamily, format_error
from synthlab.runs.registry import show
from synthlab.runs.run import Run
from synthlab.storage.files import DIGITS, Folder, checksum
from synthlab.storage.leases import Leases
from synthlab.storage.records import (
    COLUMNS,
    GROUP_ROWS,
    NESTED_COLUMNS,
    Failure,
    Record,
    decode_failure,
    encode,
    encode_failure,
    read_ids,
    to_record,
    type_columns,
)
from synthlab.storage.weights import check_save, encode_weights, find_saved_steps, read_slice

if TYPE_CHECKING:
    from torch import Tensor

IDENTITY = re.compile("[0-9a-f]{16}")
NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}-[0-9a-f]{16}\.parquet")
TAG = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
DAMAGED = "damaged (it does not have its checksum); a sweep that asks for its runs trains them anew"
OTHER_NUMBERS = "trained again for its weights, it gives other numbers than recorded; give another results folder"
BATCH = 256  # rows that are turned into records at a time


def check_tag(tag: Any) -> str | None:
    """Return the tag ``tag`` as text; it may be an integer, as a command line reads ``tag=2024``.

    Raises InputError for anything that is not a valid folder name everywhere.
    """
    if tag is None:
        return None
    if not TAG.fullmatch(str(tag)):
        raise InputError(f"tag={show(tag)}: must be a name of letters, digits, _, - and ., and not begin with a dot")
    return str(tag)


class Store:
    """The records below one folder or address, by identity.

    With ``save`` (``weights.py``), weights are saved too: a finished run without them then counts as not recorded.
    With a ``tag``, every record that is written or passed to ``tag_runs`` gets it. ``leases`` says which process trains
    which run. ``damaged`` has the path of each file that was found damaged.

    Methods raise StoreError where the folder cannot be read or written. The constructor raises InputError for an
    invalid root, ``save`` or ``tag``.
    """

    def __init__(self, root: Any, save: Any = None, tag: Any = None):
        self.save, self.tag = check_save(save), check_tag(tag)
        self.files = Folder(root)
        self.leases = Leases(self.files)
        self.damaged: set[str] = set()
        self._files: dict[str, str] = {}  # the latest file of each run in the files _known
        self._known: set[str] = set()
        self._sound: set[str] = set()  # the files of weights whose checksums have been compared

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
        return self.files.path(f"runs/{self.find([identity]).get(identity, '')}")

    def make_writable(self, folder: str = "runs") -> None:
        """Create ``folder`` below the root, and try to write to it."""
        probe = f"{folder}/.probe-{secrets.token_hex(4)}"
        self.files.write(probe, b"")
        self.files.remove(probe)

    def find(self, asked: Iterable[str] | None = None) -> dict[str, str]:
        """Return those of the runs ``asked``, or of all, that are recorded, each with the name of its latest file."""
        names = self.files.names("runs")
        if any(map(IDENTITY.fullmatch, names)):
            rewrite = f"python -m experiments.rewrite_records {self.files.address}"
            raise InputError(
                f"results={self.files.address}: holds records of an earlier layout; {rewrite} rewrites them"
            )
        sound = {name for name in names if NAME.fullmatch(name) and f"runs/{name}" not in self.damaged}
        if not self._known <= sound:  # a damaged file was set aside
            self._known, self._files = set(), {}
        for name in sorted(sound - self._known):
            with suppress(FileNotFoundError, DamagedRecord):
                for identity in self._read_ids(name):
                    self._files[identity] = max(name, self._files.get(identity, ""))
                self._known.add(name)
        files = self._files  # another thread may begin a new one
        return {
            identity: files[identity] for identity in (list(files) if asked is None else asked) if identity in files
        }

    def ids(self, folder: str = "runs") -> list[str]:
        """Return the identities of all records (or of the failed runs: ``failed``), sorted."""
        if folder == "runs":
            return sorted(self.find())
        names = [name.removesuffix(".json") for name in self.files.names("failed")]
        return [name for name in names if IDENTITY.fullmatch(name)]

    def recorded(self, asked: Collection[str]) -> set[str]:
        """Return those of the runs ``asked`` that have been recorded, with their weights if these are saved."""
        return {*self.find(asked)} if self.save is None else {each.config.id for each in self.read_all(asked)}

    def is_recorded(self, config: Run) -> bool:
        """Return True if this run has been recorded, with its weights if these are saved."""
        return bool(self.recorded([config.id]))

    def steps(self, config: Run) -> list[int]:
        """Return the steps after which weights of this run are saved. Raises InputError if they cannot be."""
        return find_saved_steps(self.save, config)

    def read(self, identity: str) -> Record:
        """Return the record called ``identity``.

        Raises:
            InputError: There is no such record, or it is damaged (DamagedRecord) or outdated (OlderRecord).
            UnknownFamily: Its kind is unknown.
        """
        for rows in self.rows([identity]):
            return next(self._decode(rows))
        if self.damaged:
            raise DamagedRecord(*self.damage_lines())
        raise InputError(f"results={self.files.address}: there is no such record: {show(identity)}")

    def read_all(self, asked: Collection[str] | None = None) -> Iterator[Record]:
        """Yield those of the runs ``asked`` that have been recorded, with their weights if these are saved.

        Without ``asked``, yield all of the present results versions. Damaged files are left out, and added to
        ``damaged``. Raises UnknownFamily.
        """
        for rows in self.rows(asked):
            with suppress(OlderRecord):
                yield from filter(self._is_complete, self._decode(rows))

    def rows(self, asked: Iterable[str] | None = None, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of the runs ``asked``, or of all, a file at a time; each run once.

        Damaged files are left out, and added to ``damaged``. Raises InputError for a file with other columns.
        """
        places: dict[str, list[str]] = defaultdict(list)
        for identity, name in self.find(asked).items():
            places[name].append(identity)
        for name, ids in sorted(places.items()):
            with suppress(FileNotFoundError, DamagedRecord):  # another sweep may move a damaged file
                file = pq.ParquetFile(pa.BufferReader(self._read(name)))
                if lacking := [column for column in COLUMNS if column not in file.schema_arrow.names]:
                    path = self.files.path(f"runs/{name}")
                    raise InputError(
                        f"{path}: another version of synthlab wrote it, without the column {lacking[0]}; move it away"
                    )
                wanted, every = {*ids}, read_ids(file.metadata.metadata)
                groups = {place // GROUP_ROWS for place, identity in enumerate(every) if identity in wanted}
                rows = file.read_row_groups(sorted(groups), columns, use_threads=False)
                yield rows.filter(pc.is_in(rows["id"], pa.array(ids))) if len(ids) < len(rows) else rows

    def damage_lines(self) -> list[str]:
        """Return a line for each damaged file that was found."""
        return [f"{self.files.path(path)}: {DAMAGED}" for path in sorted(self.damaged)]

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each run that has any, by identity: as first read, plus those written by this store since."""
        tags: dict[str, set[str]] = defaultdict(set)
        for tag in filter(TAG.fullmatch, self.files.names("tags")):
            for name in (name for name in self.files.names(f"tags/{tag}") if name.endswith(".txt")):
                for identity in self.files.read(f"tags/{tag}/{name}").decode(errors="replace").split():
                    tags[identity].add(tag)
        return {identity: tuple(sorted(names)) for identity, names in tags.items()}

    def tag_runs(self, identities: Iterable[str]) -> None:
        """Mark runs with the tag of this store, if it has one."""
        if self.tag is None:
            return
        new = sorted(identity for identity in identities if self.tag not in self.tags.get(identity, ()))
        if new:
            data = "".join(f"{identity}\n" for identity in new).encode()
            self.files.write(f"tags/{self.tag}/{checksum(data)}.txt", data)
        for identity in new:
            self.tags[identity] = tuple(sorted((*self.tags.get(identity, ()), self.tag)))

    def write(self, *records: Record) -> list[Record | Failure]:
        """Save records, those of one shape in one file; return them as they can be read, in any order.

        With ``save``, recorded runs stay as they are, but may get weights. One that was trained again for its weights,
        but gives other numbers than recorded, is saved as a failure.
        """
        before: dict[str, Record] = {}
        if self.save is not None:
            asked = [record.config.id for record in records]
            before = {each.config.id: each for rows in self.rows(asked) for each in self._decode(rows)}
        groups: dict[Any, list[Record]] = defaultdict(list)
        done: list[Record | Failure] = []
        for record in records:
            if earlier := before.get(record.config.id):
                if self._is_complete(earlier):
                    done.append(earlier)
                    continue
                if not _have_same_numbers(earlier, record):
                    failure = Failure(record.config, OTHER_NUMBERS, OTHER_NUMBERS, record.environment)
                    self.write_failure(failure)
                    done.append(failure)
                    continue
                record = replace(earlier, weights=dict(sorted({**earlier.weights, **record.weights}.items())))
            groups[record.config.family, record.config.shape, tuple(record.weights)].append(type_columns(record))
        self.tag_runs(record.config.id for record in records)
        return done + [each for group in groups.values() for each in self._write_group(group)]

    def _write_group(self, group: list[Record]) -> list[Record]:
        """Write a file of records whose weights are after the same steps; return them, with weights to be read."""
        began, file = f"{time.time_ns():016x}-{secrets.token_hex(4)}", None
        if group[0].weights:
            data = encode_weights([{step: read() for step, read in each.weights.items()} for each in group])
            file = f"{began}-{checksum(data)}.safetensors"
            self.files.write(f"weights/{file}", data)
        data = encode(group, file)
        name = f"{began}-{checksum(data)}.parquet"
        self.files.write(f"runs/{name}", data)
        self._files |= {record.config.id: name for record in group}
        self._known.add(name)
        return [
            replace(
                record, weights=self._weights(file, index, record.weights), tags=self.tags.get(record.config.id, ())
            )
            for index, record in enumerate(group)
        ]

    def write_failure(self, failure: Failure) -> None:
        """Save why a run failed, replacing an earlier failure."""
        self.files.write(f"failed/{failure.config.id}.json", encode_failure(failure))
        self.tag_runs([failure.config.id])

    def read_failure(self, identity: str) -> Failure:
        """Return why the run called ``identity`` failed. Raises as ``read`` does."""
        path = f"failed/{identity}.json"
        try:
            return decode_failure(self.files.read(path))
        except (OlderRecord, UnknownFamily, StoreError):
            raise
        except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
            raise DamagedRecord(f"{self.files.path(path)}: damaged ({format_error(error)})") from None

    def forget_failure(self, identity: str) -> None:
        """Remove the failure of a run, so that it can be tried again."""
        self.files.remove(f"failed/{identity}.json")

    def set_aside(self, path: str) -> str:
        """Move a damaged file to ``damaged/``; return its new place."""
        aside = f"damaged/{path.rpartition('/')[2]}"
        with suppress(FileNotFoundError):  # another sweep was faster
            self.files.write(aside, self.files.read(path))
            self.files.remove(path)
        self.damaged.discard(path)
        return self.files.path(aside)

    def _read_ids(self, name: str) -> list[str]:
        """Return the runs in a file of records, from its footer. Raises as ``_read`` does."""
        try:
            with self.files.open(f"runs/{name}") as file:
                return read_ids(pq.read_metadata(file).metadata)
        except Exception:  # of damaged bytes, or of the disk
            self._read(name)
            raise

    def _read(self, name: str) -> bytes:
        """Return a file of records. Raises DamagedRecord or FileNotFoundError."""
        data = self.files.read(f"runs/{name}")
        self._check(f"runs/{name}", checksum(data))
        return data

    def _check(self, path: str, found: str) -> None:
        """Raise DamagedRecord, and note it, unless a file's checksum is that in its name."""
        if found != path.partition(".")[0].rpartition("-")[2]:
            self.damaged.add(path)
            raise DamagedRecord(f"{self.files.path(path)}: {DAMAGED}")

    def _decode(self, rows: pa.Table) -> Iterator[Record]:
        """Yield the records of rows of one file. Raises OlderRecord, UnknownFamily or DamagedRecord."""
        file = rows["weights_file"][0].as_py()  # one for all of its runs
        is_there = file is not None and self.files.exists(f"weights/{file}")
        for batch in rows.to_batches(max_chunksize=BATCH):
            for row in batch.to_pylist():
                weights = self._weights(file, row["weights_index"], row["weights"] if is_there else ())
                yield to_record(row, weights, self.tags.get(row["id"], ()))

    def _weights(self, file: str | None, index: int, steps: Iterable[int]) -> dict[int, Any]:
        return {step: partial(self._load, str(file), index, step) for step in steps}

    def _load(self, file: str, index: int, step: int) -> Mapping[str, "Tensor"]:
        """Return the weights of a model. Raises DamagedRecord, or InputError if they were removed."""
        try:
            return read_slice(self._fetch_weights(file), step, index)
        except FileNotFoundError:
            where = self.files.path(f"weights/{file}")
            raise InputError(f"{where}: was removed after its record was read") from None

    def _fetch_weights(self, file: str) -> str:
        """Return the path, on this machine, of a file of weights. Raises as ``_read`` does."""
        path = self.files.fetch(f"weights/{file}")
        if file not in self._sound:
            with open(path, "rb") as opened:
                self._check(f"weights/{file}", hashlib.file_digest(opened, "sha256").hexdigest()[:DIGITS])
            self._sound.add(file)
        return path

    def _is_complete(self, record: Record) -> bool:
        """Return True if a record has the weights that are to be saved, undamaged. A diverged run has none."""
        if self.save is None or record.diverged_at is not None:
            return True
        if {*self.steps(record.config)} <= record.weights.keys():
            with suppress(InputError):  # damaged, or removed
                return bool(record.weights[record.config.steps]())
        return False


@cache
def _open_once(root: str, save: Any, tag: str | None) -> Store:
    """Return the store that was pickled: one in each process, which keeps what it knows of the files."""
    return Store(root, save, tag)


def _have_same_numbers(one: Record, other: Record) -> bool:
    for name in NESTED_COLUMNS:
        a, b = (getattr(record, name) for record in (one, other))
        if (a is None) != (b is None) or (a is not None and not a.astype(float).equals(b.astype(float))):
            return False
    return one.diverged_at == other.diverged_at
