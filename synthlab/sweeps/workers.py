"""What trains and records an ensemble, here or in worker processes."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

from synthlab.errors import InputError, StoreError
from synthlab.runs.registry import find_changed_classes
from synthlab.runs.run import Run
from synthlab.storage.records import Failure, Record
from synthlab.storage.store import Store
from synthlab.sweeps.trackers import EnsembleTracker, Tracker
from synthlab.training.execution import describe_environment, execute_together, split_inexact

Done = TypeVar("Done")
RENEWAL_FACTOR = 100  # renewing leases takes at most 1 / RENEWAL_FACTOR of the time


def train_and_record(
    configs: Sequence[Run], store: Store, device: str = "cpu", tracker: Tracker | None = None
) -> list[Record | Failure]:
    """Train and record those runs of an ensemble that no other process trains or has trained; return their outcomes.

    If the ensemble raises an error, each run is trained again alone, and those that raise it alone are recorded as
    failed. Raises StoreError if a record cannot be written.
    """
    with store.leases.hold(config.id for config in configs) as leased:
        free = {*leased} - store.recorded(leased)
        parts = split_inexact([config for config in configs if config.id in free], device)
        return [each for part in parts for each in _train(part, store, device, tracker)]


def _train(configs: list[Run], store: Store, device: str, tracker: Tracker | None) -> list[Record | Failure]:
    identities, due = [config.id for config in configs], 0.0
    try:
        if changed := sorted({each for config in configs for each in find_changed_classes(config.model_dump())}):
            again = "its source changed during the sweep; give the command again"
            raise InputError(*(f"{each}: {again}" for each in changed))
        with EnsembleTracker(tracker, configs) if tracker else nullcontext() as tracks:

            def observe(step: int, losses: list[float]) -> None:
                nonlocal due
                if (began := time.monotonic()) > due:
                    store.leases.renew(identities, step / configs[0].steps)
                    due = time.monotonic() + max(1.0, RENEWAL_FACTOR * (time.monotonic() - began))
                if tracks:
                    tracks.observe(step, losses)

            records = execute_together(configs, observe, device, store.steps(configs[0]))
            done = store.write(*records)
            if tracks:
                tracks.end(records)
            return done
    except StoreError:
        raise
    except Exception as error:  # a model, a map or a task of the user may raise anything
        if type(error).__module__.startswith("submitit"):  # the time of this job is up
            raise
        if len(configs) > 1:
            return [each for config in configs for each in _train([config], store, device, tracker)]
        failure = Failure.from_error(configs[0], error, describe_environment(device))
        store.write_failure(failure)
        return [failure]


def map_ensembles(
    work: Callable[[list[Run]], Done],
    plan: Iterable[list[Run]],
    workers: int,
    device: str = "cpu",
    give_up: Callable[[Run], Done] | None = None,
    suspects: Collection[str] = (),
) -> Iterator[Done]:
    """Yield the results of ``work`` on each ensemble of ``plan``, as they finish, from up to ``workers`` processes.

    One worker is this process. Workers take the GPUs of a machine in turn. If a worker is killed, each run of its
    ensemble is tried again alone; of a run that is killed again, ``give_up`` tells the result. ``suspects`` are the
    identities of runs whose process was killed before: with any, all work is done in other processes.

    Raises BrokenExecutor for a run that is killed twice, without ``give_up``.
    """
    waiting = deque(plan)
    workers, killed = min(workers, len(waiting)), {*suspects}
    if workers == 1 and not killed:
        yield from map(work, waiting)
        return
    from joblib.externals.loky import ProcessPoolExecutor  # takes functions of scripts without a __main__ guard

    def start(number: int) -> Any:
        begin = (device, number, os.getpid())
        return ProcessPoolExecutor(1, env={"OMP_NUM_THREADS": "1"}, initializer=_begin, initargs=begin)

    # A pool for each worker: one that is killed then breaks no other.
    pools, idle = {number: start(number) for number in range(workers)}, [*range(workers)]
    running: dict[Future[Done], tuple[int, list[Run]]] = {}
    try:
        while waiting or running:
            while waiting and idle:
                number, configs = idle.pop(), waiting.popleft()
                running[pools[number].submit(_run, work, configs)] = number, configs
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number, configs = running.pop(future)
                idle.append(number)
                try:
                    yield future.result()
                except BrokenExecutor:
                    pools[number] = start(number)
                    lost = [config for config in configs if len(configs) == 1 and config.id in killed]
                    if lost and give_up is None:
                        raise
                    yield from (give_up(config) for config in lost if give_up)
                    waiting.extendleft([config] for config in configs if config not in lost)
                    killed |= {config.id for config in configs}
    finally:
        for pool in pools.values():
            pool.shutdown(kill_workers=True)


def _begin(device: str, number: int, parent: int) -> None:
    """Begin the worker process ``number``.

    Ctrl-C interrupts nothing but its work: of a result that is cut while it is sent, the parent would wait for the rest
    forever. The parent ends it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exit_with_parent(parent)
    if device != "cpu":
        import torch

        torch.cuda.set_device(number % torch.cuda.device_count())


def _run(work: Callable[[list[Run]], Done], configs: list[Run]) -> Done:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return work(configs)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def exit_with_parent(parent: int) -> None:
    """End this worker when its parent is gone: a parent that was killed could not tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
