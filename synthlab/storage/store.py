"""The store: records below one folder, each under the identity of its run, and the other files of a sweep.

``runs/ID`` holds a finished or diverged run, ``failed/ID`` the error of a failed run, ``damaged/`` records that were
found damaged and trained anew, ``leases/`` the runs that are training now, ``sweeps/`` a folder for each sweep,
``tags/NAME/ID`` an empty file for each run that has a tag, ``sources/PLAIN-ID`` one for each that names a class of the
user, where PLAIN is the identity that the run would have without the sources of its classes.

Earlier versions kept the records of some kinds in folders of their own (``OLDER``). They are read there, and copied to
``runs/`` when their runs are asked for.
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
from synthlab.config.sources import own_classes
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
SOURCES = "sources"
OLDER = ("language", "scalar", "sequences")
RESUMED = "finished runs are kept, the same command goes on from there"
ANEW = "a sweep that asks for it trains it anew"
WEIGHTS_ANEW = "a sweep that keeps weights, by save, trains it anew"
STALE = 3600  # seconds after which an incomplete file must belong to an interrupted run


class Store:
    """The records below one folder or address, by identity.

    Iterating reads them, without those older than the present results version of their kind.

    With ``save`` (``checkpoints.py``), weights are saved too: a finished run without them then counts as not recorded,
    and reading a record checks them. Without ``save`` they are read on demand. With a ``tag`` (``tags.py``), every
    record that is written or passed to ``mark`` is tagged. Raises InputError for an invalid root, ``save`` or ``tag``.
    """

    def __init__(self, root: Any, save: Any = None, tag: Any = None):
        self.save, self.tag = check_save(save), check_tag(tag)
        self.files = files_at(root)
        self._whole, self._sound = set[str](), set[str]()  # identities that were checked: with weights, without

    @property
    def root(self) -> Path:
        """The folder. Raises InputError for an object store, where only records can be stored."""
        if not isinstance(self.files, Folder):
            raise InputError(f"results={self.files.path('')}: must be a folder of this machine here")
        return self.files.root

    @property
    def runs(self) -> Path:
        """The folder of the records."""
        return self.root / "runs"

    def path(self, identity: str) -> str:
        """Return the place of the record called ``identity``, for messages."""
        return self.files.path(self._place(identity))

    def make_writable(self, folder: str = "runs") -> None:
        """Create ``folder`` below the root, and try to write to it. Raises InputError if that fails."""
        probe = f"{folder}/.probe-{secrets.token_hex(4)}"
        with self.catch_write_errors("give a folder"):
            self.files.write(probe, b"")
            self.files.remove(probe)

    def check_shared(self) -> None:
        """Raise InputError unless other processes, such as workers, see this store."""
        if not self.files.is_shared:
            only = "is seen by no other process; give a folder, or workers=1"
            raise InputError(f"results={self.files.path('')}: {only}")

    def tidy(self) -> None:
        """Remove the incomplete files of interrupted runs."""
        if not isinstance(self.files, Folder):
            return  # no temporary files are written there
        for folder in ("runs", "failed", "leases"):
            for left in (name for name in self.files.names(folder) if name.startswith(".partial-")):
                written = self.files.modified(f"{folder}/{left}")
                if written is not None and time.time() - written > STALE:
                    self.files.remove(f"{folder}/{left}")

    def ids(self, folder: str = "runs") -> Iterator[str]:
        """Yield the identities of all records (or of the failed runs: ``failed``), in order; skip other files."""
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
        """Return True if this run has been recorded, with its weights if these are saved; its numbers are not read.

        A record in a folder of an earlier version counts only after ``adopt`` has copied it.
        """
        return self._is_here(config.id) and self._is_whole(config.id, config)

    def find_recorded(self, asked: Mapping[str, Config]) -> set[str]:
        """Return the identities of those runs that have been recorded, as ``holds`` tells for one."""
        here = asked.keys() & self._ids(["runs"])
        return {identity for identity in here if self._is_whole(identity, asked[identity])}

    def adopt(self, identities: Iterable[str]) -> dict[str, int]:
        """Copy to ``runs/`` the records that exist only in folders of earlier versions.

        Returns the number copied from each folder. Raises StoreError if they cannot be written.
        """
        copied: dict[str, int] = {}
        asked = {*identities} if self._older else set[str]()
        for older in self._older:
            with listing(self.files):
                found = [each for each in self.files.groups(older, STATUS) if each in asked and not self._is_here(each)]
            with self.catch_write_errors():
                for identity in found:
                    place = f"{older}/{identity}"
                    names = sorted(self.files.names(place), key=lambda name: name == STATUS)  # the status goes last
                    files = {name: self.files.read(f"{place}/{name}") for name in names}
                    self.files.write_group(f"runs/{identity}", files)
                    where = self.files.path(older.removesuffix("/runs"))
                    copied[where] = copied.get(where, 0) + 1
        return copied

    def count_other_sources(self, configs: Iterable[Config]) -> int:
        """Count those of the runs that are recorded with another source of a class of the user's own."""
        own = {config.id_without_sources: config.id for config in configs if any(own_classes(config.model_dump()))}
        if not own:
            return 0
        with listing(self.files):
            marks = [name.partition("-") for name in self.files.names(SOURCES)]
        others = {plain for plain, _, identity in marks if plain in own and identity != own[plain]}
        # Earlier versions of the lab recorded such runs without the source.
        return len(others | {plain for plain in own.keys() - others if self._is_here(plain)})

    def steps(self, config: Config) -> list[int]:
        """Return the steps after which weights of this run are saved. Raises InputError if they cannot be."""
        return steps_to_keep(self.save, config)

    def read(self, identity: str) -> Record:
        """Return the record called ``identity``.

        Raises:
            InputError: There is no such record, or it is damaged (DamagedRecord) or outdated (OlderRecord).
            UnknownKind: Its kind is unknown.
        """
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
        # Steps that are not on this run's curve have no weights: `steps` refuses them, reading ignores them.
        asked = {*self.save, record.config.steps} if isinstance(self.save, list) else set(self.steps(record.config))
        for step in kept.keys() & asked:
            kept[step]()
        return replace(record, weights=kept, tags=self.tags.get(identity, ()))

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The tags of each run that has any, by identity: as first read, plus those written by this store since."""
        with listing(self.files):
            return read_tags(self.files)

    def mark(self, identities: Iterable[str]) -> None:
        """Mark runs with the tag of this store, if it has one. Raises StoreError if it cannot be written."""
        if self.tag is None:
            return
        for identity in identities:
            before = self.tags.get(identity, ())
            if self.tag not in before:
                with self.catch_write_errors():
                    write_tag(self.files, self.tag, identity)
                self.tags[identity] = tuple(sorted((*before, self.tag)))

    def config(self, identity: str, folder: str = "runs") -> dict[str, Any]:
        """Return the config of a recorded (or failed) run as plain values, unchecked.

        Raises InputError for one that cannot be read.
        """
        name = "config.json" if folder == "runs" else STATUS
        place = self._place(identity) if folder == "runs" else f"{folder}/{identity}"
        with self._name_damaged(place), damage_told():
            found = parse_json(self.files.read(f"{place}/{name}"))
            return dict(found if folder == "runs" else found["config"])

    def write(self, record: Record) -> None:
        """Save ``record`` atomically. An existing record is left unchanged, except that missing weights are added.

        Raises StoreError if it cannot be written, or if it differs in numbers or outcome from the record without
        weights.
        """
        identity = record.config.id
        if self._is_here(identity):
            if not self._is_whole(identity, record.config):
                self._add_weights(identity, encode_files(record))
        else:
            with self.catch_write_errors():
                if any(own_classes(record.config.model_dump())):
                    self.files.write(f"{SOURCES}/{record.config.id_without_sources}-{identity}", b"")
                self.files.write_group(f"runs/{identity}", encode_files(record))
        self.mark([identity])

    def write_failure(self, failure: Failure) -> None:
        """Save why a run failed, replacing an earlier failure.

        Raises StoreError if it cannot be written, or if the run is recorded and was trained again for its weights.
        """
        if self.save is not None and self._has_record(failure.config.id):
            where = self.path(failure.config.id)
            raise StoreError(
                f"{where}: training it again for its weights failed ({failure.error}); the record stays as it is"
            )
        with self.catch_write_errors():
            self.forget_failure(failure.config)
            self.files.write_group(f"failed/{failure.config.id}", failure_files(failure))
        self.mark([failure.config.id])

    def failure(self, config: Config) -> Failure | None:
        """Return why this run failed; None if it did not, or if its failure can no longer be read."""
        try:
            return self.read_failure(config.id)
        except InputError:
            return None

    def read_failure(self, identity: str) -> Failure:
        """Return why the run called ``identity`` failed. Raises as ``read`` does."""
        with self._name_damaged(f"failed/{identity}"), damage_told():
            names = ("traceback.txt", STATUS)
            files = {name: self.files.read(f"failed/{identity}/{name}") for name in names}
            return failure_of(identity, files)

    def has_failed(self, config: Config) -> bool:
        """Return True if this run was tried and failed."""
        with listing(self.files):
            return self.files.holds_group(f"failed/{config.id}", STATUS)

    def forget_failure(self, config: Config) -> None:
        """Remove the failure of a run, so that it can be tried again."""
        self.files.remove(f"failed/{config.id}")

    def set_aside(self, identity: str) -> str:
        """Move a damaged record away, so that its run can be trained anew; return its new place.

        The caller holds the run's lease.
        """
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
        """Return the folder of a record: below ``runs/``, unless only an earlier version's folder has it."""
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
        """Return True if a record has the weights that are to be saved.

        A diverged run has none. A damaged record passes, since reading it raises. Weights never leave a record, so one
        found complete is not read again.
        """
        if self.save is None or identity in self._whole:
            return True
        try:
            status = self._status(identity)
            needed = {weights_name(step, config) for step in self.steps(config)}
            if status["status"] == "diverged" or needed <= status["sha256"].keys():
                self._whole.add(identity)
                return True
            if identity not in self._sound:  # damage in its numbers must be found before it is trained again
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
        """Add the weights among ``files``, those of a run trained again, to its record.

        The status is written last, so that the record is valid at any moment.
        """
        status = self._status(identity)
        again = status_of(files[STATUS])
        kept = {name for name in status["sha256"] if name.endswith(".csv") or (is_weights(name) and name in files)}
        same = all(again["sha256"].get(name) == status["sha256"][name] for name in kept)
        if again["status"] != status["status"] or not same:
            why = _explain_difference(status["environment"], again["environment"])
            raise StoreError(
                f"{self.path(identity)}: trained again, this run gives other numbers ({why}); its weights cannot be "
                "added to the record; give another results folder"
            )
        more = {name: data for name, data in files.items() if is_weights(name) and name not in status["sha256"]}
        if not more:
            return
        with self.catch_write_errors():
            for name, data in more.items():
                self.files.write(f"runs/{identity}/{name}", data)
            self.files.write(f"runs/{identity}/{STATUS}", status_with(status, more))

    def _weights(self, identity: str, name: str, digest: str) -> bytes:
        """Return a file of weights of a record. Raises DamagedRecord, or InputError if the whole record is gone."""
        place = self._place(identity)
        with self._name_damaged(place, anew=WEIGHTS_ANEW):
            try:
                data = self.files.read(f"{place}/{name}")
            except GONE as error:
                if self._has_record(identity):
                    raise Damaged(format_error(error)) from None
                raise InputError(f"{self.path(identity)}: the record was removed after it was read") from None
            return check_digest(name, data, digest)

    @contextmanager
    def _name_damaged(self, place: str, anew: str = ANEW) -> Iterator[None]:
        """Name the record in the errors of reading it."""
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


def _explain_difference(recorded: dict[str, Any], present: dict[str, Any]) -> str:
    """Return why a run trained again may have other numbers: another machine or torch, else other code."""
    made, here = _describe_environment(recorded), _describe_environment(present)
    if made != here:
        return f"recorded with {made}; here {here}"
    return f"recorded with {made}, as here: the code of the lab, or what your classes import, is another since"


def _describe_environment(environment: dict[str, Any]) -> str:
    return (
        f"torch {environment.get('torch')} on {environment.get('device')} {environment.get('instructions', '')}".strip()
    )
