"""Sweeps: which of many runs are missing, who trains them, and what happens to those that fail."""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from synthlab.analysis.printing import describe_recorded
from synthlab.analysis.record_list import Records
from synthlab.config.base import Config
from synthlab.config.registry import describe_unknown, show
from synthlab.config.sources import own_classes
from synthlab.errors import DamagedRecord, InputError, RunsFailed, StoreError
from synthlab.output import tell
from synthlab.storage.leases import Leases
from synthlab.storage.records import Failure, Record
from synthlab.storage.store import Store
from synthlab.sweeps.progress import ProgressLine
from synthlab.sweeps.ranking import failure_lines
from synthlab.sweeps.runs import train_and_record
from synthlab.sweeps.trackers import Tracker
from synthlab.sweeps.workers import in_subprocess, map_ensembles
from synthlab.training.devices import count_cores, find_device
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import environment

RETRIES = ("none", "failed")
MOST_WORKERS = 1024
FEW = 10  # number of runs up to which a store is queried for each
POLL = 1.0  # seconds between polls for runs that others train
Kept = TypeVar("Kept")


@dataclass
class Outcome(Generic[Kept]):
    """The runs of a sweep at its end, by identity: what was kept of each record, why others failed.

    ``skipped`` counts those recorded before, ``missing`` those that are neither recorded nor failed; ``damaged`` has
    the new places of damaged records.
    """

    kept: dict[str, Kept] = field(default_factory=dict)
    failures: dict[str, Failure | None] = field(default_factory=dict)
    skipped: int = 0
    missing: int = 0
    damaged: list[str] = field(default_factory=list)


class Sweep(Generic[Kept]):
    """The requested runs of a sweep, in one store. ``keep`` returns the part of a record to hold in memory."""

    def __init__(self, configs: Iterable[Config], store: Store, keep: Callable[[Record], Kept]):
        self.asked = {config.id: config for config in configs}
        self.store, self.keep, self.outcome = store, keep, Outcome[Kept]()
        self.leases = Leases(store.files)

    def prepare(self, retry: str = "none") -> None:
        """Read recorded runs, and move damaged records away, to be trained anew.

        With ``retry="failed"`` failures are removed. Raises InputError for a store that cannot be written, unless
        nothing is missing, and for weights that cannot be saved.
        """
        if retry not in RETRIES:
            raise InputError(describe_unknown("retry", retry, RETRIES))
        for config in self.asked.values():
            self.store.steps(config)
        _adopt(self.asked, self.store)
        there = self._find_existing()
        self.store.mark(there)
        for identity in there:
            self._look_at(identity)
        self.outcome.skipped = len(self.outcome.kept)
        if retry == "failed":
            again = self._find_existing("failed")
            for identity in again:
                self.store.forget_failure(self.asked[identity])
            self.leases.tidy(again)
        if missing := self.find_missing():
            self.store.make_writable()
            self.store.tidy()
            self._tell_of_sources(missing)

    def find_missing(self) -> list[Config]:
        """Return the runs that are neither recorded nor failed, in the order of the request."""
        there = self.outcome.kept.keys() | self._find_existing() | self._find_existing("failed")
        return [config for identity, config in self.asked.items() if identity not in there]

    def progress(self, shown: bool = True) -> ProgressLine:
        """Return the progress line of the sweep."""
        return ProgressLine(self.asked, self.store, self.outcome.skipped, shown)

    def train(
        self,
        workers: int = 1,
        device: str = "cpu",
        wait: bool = True,
        tracker: Tracker | None = None,
    ) -> None:
        """Train missing runs that nobody else trains; then ``wait`` for those that others train.

        Raises RunsFailed if records can no longer be written.
        """
        if workers > 1:
            self.store.check_shared()
        work = partial(train_and_record, store=self.store, device=device, tracker=tracker)
        try:
            while missing := self.find_missing():
                began = time.monotonic()
                latest = self.leases.find_latest({config.id for config in missing})
                free = [config for config in missing if config.id not in latest or not latest[config.id].alive]
                if not free and not wait:
                    return
                if not free:
                    _pause(began)
                # A run whose worker died may have crashed it (e.g. out of memory), so retrain it in its own process.
                suspects = [config for config in free if config.id in latest]
                others = [config for config in free if config.id not in latest]
                if not others or self._train_together(others, work, workers, device):
                    for config in suspects:
                        self._train_alone(config, work)
        except BaseException as error:
            self.leases.release(os.getpid())  # workers that were stopped with the sweep
            if isinstance(error, StoreError):  # it could be written before, so the disk may be full now
                raise RunsFailed(*(f"failed: {line}" for line in error.lines)) from None
            raise
        self.leases.tidy(self.asked.keys() - {config.id for config in self.find_missing()})

    def wait(self) -> None:
        """Wait until nobody trains missing runs any more."""
        while missing := {config.id for config in self.find_missing()}:
            began = time.monotonic()
            if not any(lease.alive for lease in self.leases.find_latest(missing).values()):
                return
            _pause(began)

    def end(self) -> Outcome[Kept]:
        """Return the present outcome."""
        there = self._find_existing()
        self.store.mark(there)  # runs that others trained, or that a worker marked
        for identity in there - self.outcome.kept.keys():
            self._look_at(identity)
        kept = self.outcome.kept
        self.outcome.kept = {identity: kept[identity] for identity in self.asked if identity in kept}
        failed = self._find_existing("failed") - kept.keys()
        self.store.mark(failed)
        self.outcome.failures = {
            identity: self._failure(config) for identity, config in self.asked.items() if identity in failed
        }
        self.outcome.missing = len(self.asked) - len(self.outcome.kept) - len(failed)
        return self.outcome

    def _tell_of_sources(self, missing: list[Config]) -> None:
        """Print a line if missing runs are recorded with another source of the user's classes."""
        number = self.store.count_other_sources(missing)
        if number:
            names = ", ".join(sorted({name for each in missing for _, name, _ in own_classes(each.model_dump())}))
            what = "1 run was" if number == 1 else f"{number} runs were"
            tell(f"{names}: {what} recorded with another source, or with none; trained anew, and the old records stay")

    def _find_existing(self, folder: str = "runs") -> set[str]:
        """Return which of the runs are recorded (or ``failed``).

        Small sweeps query each run; large ones list the store once.
        """
        if len(self.asked) <= FEW:
            holds = self.store.holds if folder == "runs" else self.store.has_failed
            return {identity for identity, config in self.asked.items() if holds(config)}
        if folder == "runs":
            return self.store.find_recorded(self.asked)
        return self.asked.keys() & set(self.store.ids(folder))

    def _failure(self, config: Config) -> Failure | None:
        failure = self.store.failure(config)
        return failure and replace(failure, traceback="")  # drop tracebacks to save memory; the store has them

    def _train_together(self, configs: list[Config], work: Any, workers: int, device: str) -> bool:
        """Train the runs in ensembles; return False if a worker was killed.

        The leases then tell which runs it held. Raises BrokenExecutor for workers that are killed before they hold any.
        """
        try:
            for _ in map_ensembles(work, plan_ensembles(configs, workers, device), workers):
                pass
        except BrokenExecutor:
            if not self.leases.find_latest({config.id for config in configs}):
                raise
            return False
        return True

    def _train_alone(self, config: Config, work: Any) -> None:
        """Train a run in a process of its own, and record it as failed if that process is killed."""
        try:
            in_subprocess(work, [config])
        except BrokenExecutor:
            if not self.store.holds(config):
                error = RuntimeError("its worker was killed twice, perhaps for want of memory")
                self.store.write_failure(Failure.from_error(config, error, environment()))

    def _look_at(self, identity: str) -> None:
        try:
            self.outcome.kept[identity] = self.keep(self.store.read(identity))
        except DamagedRecord:
            self._mend(identity)

    def _mend(self, identity: str) -> None:
        """Move a damaged record away, unless another sweep is repairing it or already has."""
        with self.store.catch_write_errors(), self.leases.hold([identity]) as held:
            if not held.numbers or not self.store.holds(self.asked[identity]):
                return
            try:
                self.outcome.kept[identity] = self.keep(self.store.read(identity))
            except DamagedRecord:
                self.outcome.damaged.append(self.store.set_aside(identity))


def _adopt(asked: Iterable[str], store: Store) -> None:
    """Copy requested runs that an earlier version recorded elsewhere, and print a line on them."""
    for where, number in store.adopt(asked).items():
        what = "1 record of an earlier version was" if number == 1 else f"{number} records of an earlier version were"
        tell(f"{what} copied from {where}")


def _pause(began: float) -> None:
    """Sleep much longer than the last poll, which began at ``began``, took: polling must cost little time."""
    time.sleep(max(POLL, 10 * (time.monotonic() - began)))


def count_workers(workers: Any) -> int:
    """Return the number of processes for ``workers``; None is one for each usable core. Raises InputError."""
    if workers is None:
        return count_cores()
    if not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers={show(workers)}: must be a whole number from 1 to {MOST_WORKERS}, or null")
    return workers


def require_recorded(configs: Iterable[Config], store: Store) -> None:
    """Raise InputError unless ``store`` has every run, since nothing may be trained."""
    asked = {config.id: config for config in configs}
    _adopt(asked, store)
    missing = sum(not store.holds(config) for config in asked.values())
    if missing:
        raise InputError(f"replot=true: {missing} of {len(asked)} runs are not recorded below {store.root}; train them")


def ensure(
    configs: Sequence[Config],
    store: Store,
    workers: int | None = 1,
    progress: bool = True,
    device: str = "cpu",
    tracker: Tracker | None = None,
    retry: str = "failed",
    tell_recorded: bool = False,
) -> Records:
    """Return the records of ``configs``, in their order, training only those that ``store`` lacks.

    Runs of one shape train as an ensemble. Each of ``workers`` processes trains one ensemble at a time, on one thread.
    Records depend neither on the ensembles nor on ``workers``. ``device`` is cpu, cuda or auto (cuda if available,
    without workers). A damaged record is moved away and its run trained again, with a warning. Runs that failed in an
    earlier call are tried again; with ``retry="none"`` they are not, and count as failed. The records of a finished
    ensemble are kept if a later one is interrupted. A line says which runs were recorded before, with ``progress`` or
    ``tell_recorded``.

    Raises InputError, before anything is trained, for an unwritable folder or an unavailable device; raises RunsFailed
    at the end if runs failed.
    """
    workers, device = count_workers(workers), find_device(device)
    sweep = Sweep(configs, store, keep=lambda record: record)
    sweep.prepare(retry)
    if (progress or tell_recorded) and sweep.outcome.kept:
        tell(describe_recorded([*sweep.outcome.kept.values()], len(sweep.asked)))
    if sweep.find_missing():
        with sweep.progress(progress):
            sweep.train(workers if device == "cpu" else 1, device, tracker=tracker)
    outcome = sweep.end()
    for folder in outcome.damaged:
        warnings.warn(f"a damaged record was trained anew; it lies in {folder}", stacklevel=2)
    if outcome.failures:
        raise RunsFailed(*failure_lines(outcome.failures, store, len(sweep.asked)))
    if outcome.missing:
        raise RunsFailed(f"missing: {outcome.missing} of {len(sweep.asked)} runs were damaged or removed meanwhile")
    return Records(outcome.kept[config.id] for config in configs)
