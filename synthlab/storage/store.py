"""The store: records below one folder, each under the identity of its run, and what else a sweep keeps beside them.

``runs/ID`` holds a finished or diverged run, ``failed/ID`` why one failed, ``damaged/`` records that were found damaged
and trained anew, ``leases/`` who trains what right now, ``sweeps/`` a folder for each sweep, ``tags/NAME/ID`` an empty
file for each run that has a tag.

Earlier versions kept the records of some kinds in folders of their own (``OLDER``). They are read there, and copied to
``runs/`` where their runs are asked for.
"""

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from synthlab.config.base import Config
from synthlab.errors import DamagedRecord, InputError, OlderRecord, StoreError, format_error
from synthlab.storage.checkpoints import check_save, is_weights, step_of, steps_to_keep, weights_name
from synthlab.storage.files import Folder, files_at, listing, reason_of
from synthlab.storage.records import (
    GONE,
    STATUS,
    Damaged,
    Failure,
    Record,
    check_digest,
    damage_told,
    encode_files,
    failure_files,
    failure_of,
    record_of,
    status_of,
    status_with,
)
from synthlab.storage.safe_reading import parse_json
from synthlab.storage.tags import check_tag, read_tags, write_tag

IDENTITY = re.compile("[0-9a-f]{16}")
OLDER = ("language", "scalar", "sequences")
RESUMED = "finished runs are kept, the same command goes on from there"
ANEW = "a sweep that asks for it trains it anew"
WEIGHTS_ANEW = "a sweep that keeps weights, by save, trains it anew"
STALE = 3600  # seconds after which something half-written must be an interrupted run's


class Store:
    """The records below one folder or address, by identity. Iterating reads them, without those that are older than
    the present results version of their kind.

    With a ``save`` (``checkpoints.py``) weights are to be kept, too: a finished run without them is then not recorded
    yet, and reading a record checks them. Without one they are read when they are asked for.
    With a ``tag`` (``tags.py``) every record that is written is marked, and those that ``mark`` is given.
    Raises InputError for a root that cannot be, and for another ``save`` or ``tag``.
    """

    def __init__(self, root: Any, save: Any = None, tag: Any = None):
        self.save, self.tag = check_save(save), check_tag(tag)
        self.files = files_at(root)
        self._whole, self._sound = set[str](), set[str]()  # what was looked at: with weights, without

    @property
    def root(self) -> Path:
        """The folder; raises InputError for an object store, where only records can lie."""
        if not isinstance(self.files, Folder):
            raise InputError(f"results={self.files.path('')}: must be a folder of this machine here")
        return self.files.root

    @property
    def runs(self) -> Path:
        """The folder of the records."""
        return self.root / "runs"

    def path(self, identity: str) -> str:
        """Where the record called ``identity`` lies, for people."""
        return self.files.path(self._place(identity))

    def make_writable(self, folder: str = "runs") -> None:
        """Make ``folder`` below the root, and try to write to it; raises InputError if that fails."""
        probe = f"{folder}/.probe-{secrets.token_hex(4)}"
        with self.catch_write_errors("give a folder"):
            self.files.write(probe, b"")
            self.files.remove(probe)

    def check_shared(self) -> None:
        """Raises InputError unless other processes, such as workers, see this store."""
        if not self.files.is_shared:
            only = "is seen by no other process; give a folder, or workers=1"
            raise InputError(f"results={self.files.path('')}: {only}")

    def tidy(self) -> None:
        """Remove what interrupted runs left half-written."""
        if not isinstance(self.files, Folder):
            return  # nothing is written under another name there
        for folder in ("runs", "failed", "leases"):
            for left in (name for name in self.files.names(folder) if name.startswith(".partial-")):
                written = self.files.modified(f"{folder}/{left}")
                if written is not None and time.time() - written > STALE:
                    self.files.remove(f"{folder}/{left}")

    def ids(self, folder: str = "runs") -> Iterator[str]:
        """The identities of all records (or of the failed runs: ``failed``), in order; other files are passed over."""
        yield from self._ids([folder, *self._older] if folder == "runs" else [folder])

    def _ids(self, folders: Iterable[str]) -> list[str]:
        with listing(self.files):
            names = {name for folder in folders for name in self.files.groups(folder, STATUS)}
        return [name for name in sorted(names) if IDENTITY.fullmatch(name)]

    def __iter__(self) -> Iterator[Record]:
        for identity in self.ids():
            with suppress(OlderRecord):
                yield self.read(identity)

    def holds(self, config: Config) -> bool:
        """Whether this run has been recorded, with all that is to be kept of it; its numbers are not read. One in a
        folder of an earlier version does not count until ``adopt`` has copied it."""
        return self._is_here(config.id) and self._is_whole(config.id, config)

    def find_recorded(self, asked: Mapping[str, Config]) -> set[str]:
        """The identities of those of many runs, by identity, that have been recorded, as ``holds`` says it of one."""
        here = asked.keys() & self._ids(["runs"])
        return {identity for identity in here if self._is_whole(identity, asked[identity])}

    def adopt(self, identities: Iterable[str]) -> dict[str, int]:
        """Copy to ``runs/`` those of the records that lie only in folders of earlier versions. Returns how many were
        copied from each folder. Raises StoreError where they cannot be written."""
        copied: dict[str, int] = {}
        asked = {*identities} if self._older else set[str]()
        for older in self._older:
            with listing(self.files):
                found = [each for each in self.files.groups(older, STATUS) if each in asked and not self._is_here(each)]
            with self.catch_write_errors():
                for identity in found:
                    place = f"{older}/{identity}"
                    names = sorted(self.files.names(place), key=lambda name: name == STATUS)  # the status is the last
                    files = {name: self.files.read(f"{place}/{name}") for name in names}
                    self.files.write_group(f"runs/{identity}", files)
                    where = self.files.path(older.removesuffix("/runs"))
                    copied[where] = copied.get(where, 0) + 1
        return copied

    def steps(self, config: Config) -> list[int]:
        """The steps after which weights of this run are to be kept. Raises InputError if they cannot be."""
        return steps_to_keep(self.save, config)

    def read(self, identity: str) -> Record:
        """The record called ``identity``. Raises an InputError that names it, DamagedRecord, OlderRecord or one that
        says that there is none; and UnknownKind, which names its kind."""
        place = self._place(identity)
        with self._name_damaged(place):
            try:
                status = status_of(self.files.read(f"{place}/{STATUS}"))
            except FileNotFoundError:
                if self._has_record(identity):
                    raise Damaged(f"{STATUS} is missing") from None
                raise InputError(f"{self.path(identity)}: there is no such record") from None
            record = record_of(identity, status, lambda name: self.files.read(f"{place}/{name}"))
        names = sorted((step_of(name, record.config), name) for name in status["sha256"] if is_weights(name))
        kept = {step: partial(self._weights, identity, name, status["sha256"][name]) for step, name in names}
        # Of steps that this run's curve lacks no weights are kept: `steps` refuses them, reading passes them over.
        asked = {*self.save, record.config.steps} if isinstance(self.save, list) else set(self.steps(record.config))
        for step in kept.keys() & asked:
            kept[step]()
        return replace(record, weights=kept, tags=self.tags.get(identity, ()))

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each run that has any, by identity: those that there were when this store was first asked, and
        those that it has written itself."""
        with listing(self.files):
            return read_tags(self.files)

    def mark(self, identities: Iterable[str]) -> None:
        """Mark runs with the tag of this store, if it has one. Raises StoreError where that cannot be written."""
        if self.tag is None:
            return
        for identity in identities:
            before = self.tags.get(identity, ())
            if self.tag not in before:
                with self.catch_write_errors():
                    write_tag(self.files, self.tag, identity)
                self.tags[identity] = tuple(sorted((*before, self.tag)))

    def config(self, identity: str, folder: str = "runs") -> dict[str, Any]:
        """The config of a recorded (or failed) run as plain values, unchecked. Raises InputError for one that cannot be
        read."""
        name = "config.json" if folder == "runs" else STATUS
        place = self._place(identity) if folder == "runs" else f"{folder}/{identity}"
        with self._name_damaged(place), damage_told():
            found = parse_json(self.files.read(f"{place}/{name}"))
            return dict(found if folder == "runs" else found["config"])

    def write(self, record: Record) -> None:
        """Keep ``record``, whole or not at all. One that is already there stays as it is; if it lacks the weights that
        are to be kept, they are put beside it. Raises StoreError where it cannot be written, or where it has other
        numbers, or another outcome, than the one that lacks weights."""
        identity = record.config.id
        if self._is_here(identity):
            if not self._is_whole(identity, record.config):
                self._add_weights(identity, encode_files(record))
        else:
            with self.catch_write_errors():
                self.files.write_group(f"runs/{identity}", encode_files(record))
        self.mark([identity])

    def write_failure(self, failure: Failure) -> None:
        """Keep why a run failed, in place of what was known before. Raises StoreError where it cannot be written, or
        where the run is recorded and was trained again for its weights."""
        if self.save is not None and self._has_record(failure.config.id):
            where = self.path(failure.config.id)
            raise StoreError(f"{where}: its weights could not be made ({failure.error}); the record stays as it is")
        with self.catch_write_errors():
            self.forget_failure(failure.config)
            self.files.write_group(f"failed/{failure.config.id}", failure_files(failure))
        self.mark([failure.config.id])

    def failure(self, config: Config) -> Failure | None:
        """Why this run failed, or None if it did not, or if nobody can tell any more."""
        try:
            return self.read_failure(config.id)
        except InputError:
            return None

    def read_failure(self, identity: str) -> Failure:
        """Why the run called ``identity`` failed. Raises as ``read`` does."""
        with self._name_damaged(f"failed/{identity}"), damage_told():
            names = ("traceback.txt", STATUS)
            files = {name: self.files.read(f"failed/{identity}/{name}") for name in names}
            return failure_of(identity, files)

    def has_failed(self, config: Config) -> bool:
        """Whether this run was tried and failed."""
        with listing(self.files):
            return self.files.holds_group(f"failed/{config.id}", STATUS)

    def forget_failure(self, config: Config) -> None:
        """Let a failed run be tried again."""
        self.files.remove(f"failed/{config.id}")

    def set_aside(self, identity: str) -> str:
        """Move a damaged record out of the way, so that its run can be trained anew; returns where it lies now. Whoever
        does so holds the run's lease."""
        aside = f"damaged/{identity}-{secrets.token_hex(4)}"
        self._whole.discard(identity)
        with self.catch_write_errors("finished runs are kept"):
            self.files.move(f"runs/{identity}", aside)
        return self.files.path(aside)

    @cached_property
    def _older(self) -> list[str]:
        """The folders of records that an earlier version left here."""
        with listing(self.files):
            there = {*self.files.names("")} & {*OLDER}
            return [f"{name}/runs" for name in OLDER if name in there]

    def _place(self, identity: str) -> str:
        """The folder of a record: below ``runs/``, unless only an earlier version's folder has it."""
        if self._older and not self._is_here(identity):
            with listing(self.files):
                for older in self._older:
                    if self.files.holds_group(f"{older}/{identity}", STATUS):
                        return f"{older}/{identity}"
        return f"runs/{identity}"

    def _is_here(self, identity: str) -> bool:
        with listing(self.files):
            return self.files.holds_group(f"runs/{identity}", STATUS)

    def _has_record(self, identity: str) -> bool:
        with listing(self.files):
            return self.files.holds_group(self._place(identity), STATUS)

    def _is_whole(self, identity: str, config: Config) -> bool:
        """Whether a record has the weights, if they are to be kept. A diverged run has none; what is damaged passes,
        since whoever reads it says so. Weights never leave a record, so that one found whole is not read again."""
        if self.save is None or identity in self._whole:
            return True
        try:
            status = self._status(identity)
            needed = {weights_name(step, config) for step in self.steps(config)}
            if status["status"] == "diverged" or needed <= status["sha256"].keys():
                self._whole.add(identity)
                return True
            if identity not in self._sound:  # damage in its numbers is to be found before it is trained again
                self.read(identity)
                self._sound.add(identity)
        except DamagedRecord:
            return True
        return False

    def _status(self, identity: str) -> dict[str, Any]:
        place = self._place(identity)
        with self._name_damaged(place):
            return status_of(self.files.read(f"{place}/{STATUS}"))

    def _add_weights(self, identity: str, files: dict[str, bytes]) -> None:
        """Put the weights among ``files``, those of a run trained again, beside its record. The status is written last,
        so that the record is sound at any moment."""
        status = self._status(identity)
        again = status_of(files[STATUS])
        kept = {name for name in status["sha256"] if name.endswith(".csv") or (is_weights(name) and name in files)}
        same = all(again["sha256"].get(name) == status["sha256"][name] for name in kept)
        if again["status"] != status["status"] or not same:
            made, here = (_describe_environment(each["environment"]) for each in (status, again))
            raise StoreError(
                f"{self.path(identity)}: trained again, this run gives other numbers (recorded with {made}; here "
                f"{here}); its weights cannot be kept beside them, give another results folder"
            )
        more = {name: data for name, data in files.items() if is_weights(name) and name not in status["sha256"]}
        if not more:
            return
        with self.catch_write_errors():
            for name, data in more.items():
                self.files.write(f"runs/{identity}/{name}", data)
            self.files.write(f"runs/{identity}/{STATUS}", status_with(status, more))

    def _weights(self, identity: str, name: str, digest: str) -> bytes:
        """A file of weights of a record. Raises DamagedRecord, and InputError where the whole record is gone."""
        place = self._place(identity)
        with self._name_damaged(place, anew=WEIGHTS_ANEW):
            try:
                data = self.files.read(f"{place}/{name}")
            except GONE as error:
                if self._has_record(identity):
                    raise Damaged(format_error(error)) from None
                raise InputError(f"{self.path(identity)}: the record is gone since it was read") from None
            return check_digest(name, data, digest)

    @contextmanager
    def _name_damaged(self, place: str, anew: str = ANEW) -> Iterator[None]:
        """Name the record that cannot be read."""
        where = self.files.path(place)
        try:
            yield
        except OlderRecord as error:
            raise OlderRecord(f"{where}: {error}") from None
        except (Damaged, *GONE) as error:
            raise DamagedRecord(f"{where}: damaged record ({error}); {anew}") from None
        except OSError as error:
            raise StoreError(f"{where}: cannot be read ({reason_of(error)})") from None

    @contextmanager
    def catch_write_errors(self, hint: str = RESUMED) -> Iterator[None]:
        """Turn an OSError into one line that names the results folder, with ``hint`` at its end."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"results={self.files.path('')}: cannot be written ({reason_of(error)}); {hint}") from None


def _describe_environment(environment: dict[str, Any]) -> str:
    return (
        f"torch {environment.get('torch')} on {environment.get('device')} {environment.get('instructions', '')}".strip()
    )
