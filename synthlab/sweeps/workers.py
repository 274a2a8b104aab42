"""What trains and records an ensemble, here or in worker processes."""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from traceback import walk_tb
from typing import TypeVar

from synthlab.errors import InputError, StoreError
from synthlab.runs.registry import find_changed
from synthlab.runs.run import Run
from synthlab.storage.leases import release_all
from synthlab.storage.records import Failure
from synthlab.storage.store import Store
from synthlab.sweeps.trackers import Tracker, Tracks
from synthlab.training.execution import environment, execute_together, split_inexact

Done = TypeVar("Done")
RENEWED = 100  # renewing leases takes at most 1 / RENEWED of the time


def train_and_record(configs: Sequence[Run], store: Store, device: str = "cpu", tracker: Tracker | None = None) -> None:
    """Train and record those runs of an ensemble that no other process trains or has trained.

    If the ensemble raises an error, each run is trained again alone, and those that raise it alone are recorded as
    failed.
    """
    with store.catch_write_errors(), store.leases.hold(config.id for config in configs) as leased:
        done = store.find_recorded({config.id: config for config in configs}) | {*store.ids("failed")}
        mine = [config for config in configs if config.id in leased and config.id not in done]
        for part in split_inexact(mine, device):
            _train(part, store, device, tracker)


def _train(configs: list[Run], store: Store, device: str, tracker: Tracker | None) -> None:
    identities, due = [config.id for config in configs], 0.0
    try:
        _check_sources(configs)
        with Tracks(tracker, configs) if tracker else nullcontext() as tracks:

            def observe(step: int, losses: list[float]) -> None:
                nonlocal due
                if (began := time.monotonic()) > due:
                    store.leases.renew(identities, step / configs[0].steps)
                    due = time.monotonic() + max(1.0, RENEWED * (time.monotonic() - began))
                if tracks:
                    tracks.observe(step, losses)

            records = execute_together(configs, observe, device, store.steps(configs[0]))
            store.write(*records)
            if tracks:
                tracks.end(records)
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model, a map or a task of the user may raise anything
        if _is_schedulers(error):
            raise
        if len(configs) == 1:
            store.write_failure(Failure.from_error(configs[0], error, environment(device)))
            return
        for config in configs:
            _train([config], store, device, tracker)


def _check_sources(configs: Iterable[Run]) -> None:
    """Raise InputError for a class of the user that was edited between the start of the sweep and this training."""

    def find() -> list[str]:
        return sorted({each for config in configs for each in find_changed(config.model_dump())})

    # A worker that an earlier sweep has left may have imported an earlier source.
    for name in {each.partition("=")[2].partition(":")[0] for each in find()}:
        importlib.reload(sys.modules[name])
    changed = find()
    if changed:
        raise InputError(*(f"{each}: its source changed during the sweep; give the command again" for each in changed))


def _is_schedulers(error: BaseException) -> bool:
    """Return True for an exception by which submitit ends a job whose time is up."""
    frames = walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("submitit") for frame, _ in frames)


def map_ensembles(work: Callable[[list[Run]], Done], plan: list[list[Run]], workers: int) -> Iterator[Done]:
    """Yield the results of ``work`` on each ensemble of ``plan``, as they finish, from up to ``workers`` processes."""
    workers = min(workers, len(plan))
    if workers == 1:
        yield from map(work, plan)
        return
    from joblib import Parallel, delayed

    # Only as many tasks are submitted as there are workers, so that an interruption leaves no queue behind.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch=workers)
    yield from parallel(delayed(_run_watched)(work, configs, os.getpid()) for configs in plan)


def in_subprocess(work: Callable[[list[Run]], Done], configs: list[Run]) -> Done:
    """Return the result of ``work`` on one ensemble, from a process of its own.

    Raises BrokenExecutor if it is killed.
    """
    # Works in scripts without a __main__ guard, unlike the standard library's.
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(max_workers=1) as executor:
        return executor.submit(_run_watched, work, configs, os.getpid()).result()


def _run_watched(work: Callable[[list[Run]], Done], configs: list[Run], parent: int) -> Done:
    leave_with(parent)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return work(configs)
    finally:
        # Between two ensembles Ctrl-C ends the worker without joblib's traceback, since there is nothing to clean up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@cache
def leave_with(parent: int) -> None:
    """End this worker when its parent is gone: a parent that was killed could not tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        release_all()  # no run of this worker caused its end
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
