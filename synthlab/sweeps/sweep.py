"""Sweeps: which of many runs are missing, who trains them, and what happens to those that fail."""

import builtins
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from synthlab.analysis.printing import describe_recorded
from synthlab.analysis.record_list import Records
from synthlab.errors import InputError, RunsFailed, StoreError
from synthlab.output import tell
from synthlab.runs.registry import describe_unknown, show
from synthlab.runs.run import Run
from synthlab.storage.records import Failure, Record
from synthlab.storage.store import Store
from synthlab.sweeps.ranking import failure_lines
from synthlab.sweeps.trackers import Tracker
from synthlab.sweeps.workers import in_subprocess, map_ensembles, train_and_record
from synthlab.training.devices import count_cores, find_device
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import environment

RETRIES = ("none", "failed")
MOST_WORKERS = 1024
TERMINAL, LOG = 1.0, 30.0  # seconds between two looks into the store, of a bar in a terminal and of lines in a file
PATIENCE = 20  # looking takes at most 1 / PATIENCE of the time
Kept = TypeVar("Kept")


@dataclass
class Outcome(Generic[Kept]):
    """The runs of a sweep, by identity: what was kept of each record, why others failed.

    ``skipped`` counts those recorded before, ``missing`` those that are neither recorded nor failed; ``damaged`` has
    the new places of damaged files.
    """

    kept: dict[str, Kept] = field(default_factory=dict)
    failures: dict[str, Failure | None] = field(default_factory=dict)
    skipped: int = 0
    missing: int = 0
    damaged: list[str] = field(default_factory=list)


class Sweep(Generic[Kept]):
    """The requested runs of a sweep, in one store. ``keep`` returns the part of a record to hold in memory."""

    def __init__(self, configs: Iterable[Run], store: Store, keep: Callable[[Record], Kept]):
        self.asked = {config.id: config for config in configs}
        self.store, self.keep, self.outcome = store, keep, Outcome[Kept]()
        self.missing = list(self.asked.values())  # as of the last look into the store

    def prepare(self, retry: str = "none") -> None:
        """Read recorded runs, and move damaged files away, whose runs are trained anew.

        With ``retry="failed"`` failures are removed. Raises InputError for a store that cannot be written, unless
        nothing is missing, and for weights that cannot be saved.
        """
        if retry not in RETRIES:
            raise InputError(describe_unknown("retry", retry, RETRIES))
        for config in self.asked.values():
            self.store.steps(config)
        self.store.mark(self.asked)
        if retry == "failed":
            for identity in self.asked.keys() & {*self.store.ids("failed")}:
                self.store.forget_failure(self.asked[identity])
        self.find_missing()
        self.outcome.skipped = len(self.outcome.kept)
        if self.missing:
            self.store.make_writable()

    def find_missing(self) -> list[Run]:
        """Read what has been recorded since the last look; return the runs that are neither recorded nor failed."""
        kept, damage = self.outcome.kept, True
        while damage:
            for record in self.store.read_all(self.asked.keys() - kept.keys()):
                kept[record.config.id] = self.keep(record)
            damage = list(self.store.damaged)
            self.outcome.damaged += map(self.store.set_aside, damage)
        gone = kept.keys() | {*self.store.ids("failed")}
        self.missing = [config for identity, config in self.asked.items() if identity not in gone]
        return self.missing

    def train(self, workers: int = 1, device: str = "cpu", wait: bool = True, tracker: Tracker | None = None) -> None:
        """Train missing runs that nobody else trains; then ``wait`` for those that others train.

        Raises RunsFailed if records can no longer be written.
        """
        if workers > 1 and self.store.files.address.startswith("memory:"):
            only = "is seen by no other process; give a folder, or workers=1"
            raise InputError(f"results={self.store.files.address}: {only}")
        work = partial(train_and_record, store=self.store, device=device, tracker=tracker)
        try:
            while self.missing:
                leases = self.store.leases.find({config.id for config in self.missing})
                # Runs whose process died may have ended it, such as for want of memory.
                dead = [config for config in self.missing if config.id in leases and not leases[config.id].alive]
                if free := [config for config in self.missing if config.id not in leases]:
                    self._train_together(free, work, workers, device)
                elif dead:
                    for group in plan_ensembles(dead, 1, device):
                        self._train_apart(group, work)
                elif wait:
                    time.sleep(TERMINAL)
                else:
                    return
                self.find_missing()
        except StoreError as error:  # it could be written before, so the disk may be full now
            raise RunsFailed(*(f"failed: {line}" for line in error.lines)) from None
        self.store.leases.clear(self.asked)

    def wait(self) -> None:
        """Wait until nobody trains missing runs any more."""
        while any(lease.alive for lease in self.store.leases.find({each.id for each in self.find_missing()}).values()):
            time.sleep(TERMINAL)

    def end(self) -> Outcome[Kept]:
        """Return the outcome."""
        kept = self.outcome.kept
        self.outcome.missing = len(self.find_missing() if self.missing else [])
        self.outcome.kept = {identity: kept[identity] for identity in self.asked if identity in kept}
        failed = {*self.store.ids("failed")} - kept.keys()
        for identity, config in self.asked.items():
            if identity in failed:
                failure = self.store.failure(config)  # without its traceback, to save memory
                self.outcome.failures[identity] = failure and replace(failure, traceback="")
        return self.outcome

    def count(self) -> tuple[str, float]:
        """Return a line with the numbers of runs, and the number of those that are over; of others, their shares."""
        recorded = self.store.find_recorded(self.asked)
        failed = len((self.asked.keys() & {*self.store.ids("failed")}) - recorded)
        skipped, left = self.outcome.skipped, len(self.asked) - len(recorded) - failed
        shares = self.store.leases.find(self.asked.keys() - recorded) if left else {}
        over = len(self.asked) - left + sum(lease.share for lease in shares.values() if lease.alive)
        return f"{len(recorded) - skipped} done, {failed} failed, {skipped} skipped, {left} left", over

    @contextmanager
    def progress(self, shown: bool = True) -> Iterator[None]:
        """Show progress while the block runs, by looking into the store: a bar in a terminal, lines in a file."""
        from tqdm.auto import tqdm

        moves = sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")
        stop, total, begun = threading.Event(), len(self.asked), self.outcome.skipped
        look = "{bar:24} {desc}| {elapsed} so far, {remaining} to go"
        bar = tqdm(total=total, initial=begun, bar_format=look, smoothing=0, disable=not (moves and shown))

        def show() -> None:
            # An error of the store or of the screen must not end a sweep.
            with suppress(OSError, ValueError, AttributeError, InputError):
                text, over = self.count()
                bar.set_description_str(text, refresh=False)
                bar.update(over - bar.n)
                bar.refresh()
                if not moves:
                    tell(text)

        def watch() -> None:
            pause = began = 0.0
            while not stop.wait(max(TERMINAL if moves else LOG, PATIENCE * pause)):
                began = time.monotonic()
                show()
                pause = time.monotonic() - began

        if not shown:
            yield
            return
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            show()
            bar.close()

    def _train_together(self, configs: list[Run], work: Any, workers: int, device: str) -> None:
        """Train the runs in ensembles, until a worker is killed: its leases then tell which runs it held.

        Raises BrokenExecutor for workers that are killed before they hold any.
        """
        try:
            for _ in map_ensembles(work, plan_ensembles(configs, workers, device), workers):
                pass
        except BrokenExecutor:
            if not self.store.leases.find({config.id for config in configs}):
                raise

    def _train_apart(self, configs: list[Run], work: Any) -> None:
        """Train an ensemble whose process was killed in a process of its own; if that is killed too, each run alone.

        A run that is killed alone is recorded as failed.
        """
        try:
            in_subprocess(work, configs)
        except BrokenExecutor:
            recorded = self.store.find_recorded({config.id: config for config in configs})
            for config in (config for config in configs if config.id not in recorded):
                if len(configs) > 1:
                    self._train_apart([config], work)
                else:
                    error = RuntimeError("its worker was killed twice, perhaps for want of memory")
                    self.store.write_failure(Failure.from_error(config, error, environment()))


def count_workers(workers: Any) -> int:
    """Return the number of processes for ``workers``; None is one for each usable core. Raises InputError."""
    if workers is None:
        return count_cores()
    if not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers={show(workers)}: must be a whole number from 1 to {MOST_WORKERS}, or null")
    return workers


def require_recorded(configs: Iterable[Run], store: Store) -> None:
    """Raise InputError unless ``store`` has every run, since nothing may be trained."""
    asked = {config.id: config for config in configs}
    missing = len(asked) - len(store.find_recorded(asked))
    if missing:
        raise InputError(f"replot=true: {missing} of {len(asked)} runs are not recorded below {store.root}; train them")


def ensure(
    configs: Sequence[Run],
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
    without workers). A damaged file is moved away and its runs trained again, with a warning. Runs that failed in an
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
    if sweep.missing:
        with sweep.progress(progress):
            sweep.train(workers if device == "cpu" else 1, device, tracker=tracker)
    outcome = sweep.end()
    for file in outcome.damaged:
        warnings.warn(f"a damaged file was set aside, and its runs trained anew: {file}", stacklevel=2)
    if outcome.failures:
        raise RunsFailed(*failure_lines(outcome.failures, store, len(sweep.asked)))
    if outcome.missing:
        raise RunsFailed(f"missing: {outcome.missing} of {len(sweep.asked)} runs were damaged or removed meanwhile")
    return Records(outcome.kept[config.id] for config in configs)
