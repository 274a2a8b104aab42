"""Sweeps: which of many runs are missing, who trains them, and what happens to those that fail."""

import builtins
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from synthlab.analysis.printing import describe_recorded
from synthlab.analysis.record_list import Records
from synthlab.errors import DamagedRecord, InputError, RunsFailed, StoreError
from synthlab.output import print_err
from synthlab.runs.registry import describe_unknown, show
from synthlab.runs.run import Run
from synthlab.storage.records import Failure, Record
from synthlab.storage.store import Store
from synthlab.sweeps.ranking import failure_lines
from synthlab.sweeps.trackers import Tracker
from synthlab.sweeps.workers import map_ensembles, train_and_record
from synthlab.training.devices import count_cores, find_device
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import describe_environment

RETRIES = ("none", "failed")
MOST_WORKERS = 1024
TERMINAL_SECONDS, LOG_SECONDS = 1.0, 30.0  # seconds between two refreshes of a bar in a terminal and of lines in a file
REFRESH_FACTOR = 20  # refreshing takes at most 1 / REFRESH_FACTOR of the time
RESUME_NOTE = "finished runs are kept, the same command goes on from there"
Result = TypeVar("Result")


class Sweep(Generic[Result]):
    """The requested runs of a sweep, in one store, by identity.

    Attributes:
        results: What ``keep`` returned of the record of each recorded run.
        failures: Why runs failed.
        missing: The runs that are neither recorded nor failed, as of the last refresh.
        skipped: The number of runs that were recorded before.
        damaged: The new places of damaged files.
    """

    def __init__(self, configs: Iterable[Run], store: Store, keep: Callable[[Record], Result]):
        self.configs = {config.id: config for config in configs}
        self.store, self.keep = store, keep
        self.results: dict[str, Result] = {}
        self.failures: dict[str, Failure] = {}
        self.missing = dict(self.configs)
        self.skipped = 0
        self.damaged: list[str] = []

    def prepare(self, retry: str = "none") -> None:
        """Read recorded runs, and move damaged files away, whose runs are trained anew.

        With ``retry="failed"`` failures are removed. Raises InputError for a store that cannot be written, unless
        nothing is missing, and for weights that cannot be saved.
        """
        if retry not in RETRIES:
            raise InputError(describe_unknown("retry", retry, RETRIES))
        for config in self.configs.values():
            self.store.steps(config)
        self.store.tag_runs(self.configs)
        if retry == "failed":
            for identity in self.configs.keys() & {*self.store.ids("failed")}:
                self.store.forget_failure(identity)
        self.refresh()
        self.skipped = len(self.results)
        if self.missing:
            self.store.make_writable()

    def refresh(self) -> None:
        """Read what has been recorded, or has failed, since the last refresh."""
        damage = True
        while damage:
            for record in self.store.read_all(self.missing.keys()):
                self._add(record)
            damage = list(self.store.damaged)
            self.damaged += map(self.store.set_aside, damage)
        for identity in self.missing.keys() & {*self.store.ids("failed")}:
            with suppress(DamagedRecord):  # it is tried again
                self._add(self.store.read_failure(identity))

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
                leases = self.store.leases.find(self.missing)
                # Runs whose process died may have ended it, such as for want of memory.
                dead = [identity for identity, lease in leases.items() if not lease.alive]
                if dead or len(leases) < len(self.missing):
                    free = [config for identity, config in self.missing.items() if identity not in leases]
                    plan = plan_ensembles(free, workers, device)
                    plan += plan_ensembles([self.missing[identity] for identity in dead], workers, device)
                    for done in map_ensembles(work, plan, workers, device, self._record_killed, dead):
                        for each in done:
                            self._add(each)
                elif wait:
                    time.sleep(TERMINAL_SECONDS)
                else:
                    return
                if self.missing:
                    self.refresh()
        except StoreError as error:  # it could be written before, so the disk may be full now
            raise RunsFailed(*(f"failed: {line}; {RESUME_NOTE}" for line in error.lines)) from None

    def wait(self) -> None:
        """Wait until nobody trains missing runs any more."""
        self.refresh()
        while any(lease.alive for lease in self.store.leases.find(self.missing).values()):
            time.sleep(TERMINAL_SECONDS)
            self.refresh()

    def count(self) -> tuple[str, float]:
        """Return a line with the numbers of runs, and the number of those that are over; of others, their shares."""
        recorded = self.store.recorded(self.configs.keys())
        failed = len((self.configs.keys() & {*self.store.ids("failed")}) - recorded)
        left = len(self.configs) - len(recorded) - failed
        shares = self.store.leases.find(self.configs.keys() - recorded) if left else {}
        over = len(self.configs) - left + sum(lease.share for lease in shares.values() if lease.alive)
        return f"{len(recorded) - self.skipped} done, {failed} failed, {self.skipped} skipped, {left} left", over

    @contextmanager
    def progress(self, shown: bool = True) -> Iterator[None]:
        """Show progress while the block runs, by reading the store: a bar in a terminal, lines in a file."""
        if not shown:
            yield
            return
        from tqdm.auto import tqdm

        moves = sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")
        layout = "{bar:24} {desc}| {elapsed} so far, {remaining} to go"
        bar = tqdm(total=len(self.configs), initial=self.skipped, bar_format=layout, smoothing=0, disable=not moves)
        stop = threading.Event()

        def show() -> None:
            # An error of the store or of the screen must not end a sweep.
            with suppress(OSError, ValueError, AttributeError):
                text, over = self.count()
                bar.set_description_str(text, refresh=False)
                bar.update(over - bar.n)
                bar.refresh()
                if not moves:
                    print_err(text)

        def watch() -> None:
            pause = began = 0.0
            while not stop.wait(max(TERMINAL_SECONDS if moves else LOG_SECONDS, REFRESH_FACTOR * pause)):
                began = time.monotonic()
                show()
                pause = time.monotonic() - began

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            show()
            bar.close()

    def _add(self, done: Record | Failure) -> None:
        identity = done.config.id
        self.missing.pop(identity, None)
        if isinstance(done, Record):
            self.results[identity] = self.keep(done)
        else:  # of many, without their tracebacks, to save memory
            self.failures[identity] = replace(done, traceback=done.traceback if len(self.configs) == 1 else "")

    def _record_killed(self, config: Run) -> list[Record | Failure]:
        """Record a run as failed that was killed with its process twice."""
        error = RuntimeError("its worker was killed twice, perhaps for want of memory")
        failure = Failure.from_error(config, error, describe_environment())
        self.store.write_failure(failure)
        return [failure]


def count_workers(workers: Any, device: str = "cpu") -> int:
    """Return the number of processes for ``workers``. Raises InputError.

    None is one for each usable core, or for each GPU.
    """
    if workers is not None and (
        not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= MOST_WORKERS
    ):
        raise InputError(f"workers={show(workers)}: must be a whole number from 1 to {MOST_WORKERS}, or null")
    if device == "cpu":
        return workers or count_cores()
    import torch

    return workers or torch.cuda.device_count()


def require_recorded(configs: Iterable[Run], store: Store) -> None:
    """Raise InputError unless ``store`` has every run, since nothing may be trained."""
    ids = {config.id for config in configs}
    missing = len(ids - store.recorded(ids))
    if missing:
        raise InputError(f"replot=true: {missing} of {len(ids)} runs are not recorded below {store.root}; train them")


def ensure(
    configs: Sequence[Run],
    store: Store,
    workers: int | None = 1,
    progress: bool = True,
    device: str = "cpu",
    tracker: Tracker | None = None,
    retry: str = "failed",
    report_recorded: bool = False,
) -> Records:
    """Return the records of ``configs``, in their order, training only those that ``store`` lacks.

    Runs of one shape train as an ensemble. Each of ``workers`` processes trains one ensemble at a time, on one thread
    of a CPU or on a GPU. Records depend neither on the ensembles nor on ``workers``. ``device`` is cpu, cuda
    or auto (cuda if available). A damaged file is moved away and its runs trained again, with a warning. Runs that
    failed in an earlier call are tried again; with ``retry="none"`` they are not, and count as failed. The records of a
    finished ensemble are kept if a later one is interrupted. A line says which runs were recorded before, with
    ``progress`` or ``report_recorded``.

    Raises InputError, before anything is trained, for an unwritable folder or an unavailable device; raises RunsFailed
    at the end if runs failed.
    """
    device = find_device(device)
    workers = count_workers(workers, device)
    sweep = Sweep(configs, store, keep=lambda record: record)
    sweep.prepare(retry)
    if (progress or report_recorded) and sweep.results:
        print_err(describe_recorded([*sweep.results.values()], len(sweep.configs)))
    if sweep.missing:
        with sweep.progress(progress):
            sweep.train(workers, device, tracker=tracker)
    for file in sweep.damaged:
        warnings.warn(f"a damaged file was set aside, and its runs trained anew: {file}", stacklevel=2)
    if sweep.failures:
        raise RunsFailed(*failure_lines(sweep.failures, store.files.address, len(sweep.configs)))
    return Records(sweep.results[config.id] for config in configs)
