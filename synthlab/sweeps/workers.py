"""Worker processes."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

from synthlab.config.base import Config
from synthlab.storage.leases import release_all

Done = TypeVar("Done")


def map_ensembles(work: Callable[[list[Config]], Done], plan: list[list[Config]], workers: int) -> Iterator[Done]:
    """Yield the results of ``work`` on each ensemble of ``plan``, as they finish, from up to ``workers`` processes."""
    workers = min(workers, len(plan))
    if workers == 1:
        yield from map(work, plan)
        return
    from joblib import Parallel, delayed

    # Only as many tasks are submitted as there are workers, so that an interruption leaves no queue behind.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch=workers)
    yield from parallel(delayed(_run_watched)(work, configs, os.getpid()) for configs in plan)


def in_subprocess(work: Callable[[list[Config]], Done], configs: list[Config]) -> Done:
    """Return the result of ``work`` on one ensemble, from a process of its own.

    Raises BrokenExecutor if it is killed.
    """
    # Works in scripts without a __main__ guard, unlike the standard library's.
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(max_workers=1) as executor:
        return executor.submit(_run_watched, work, configs, os.getpid()).result()


def _run_watched(work: Callable[[list[Config]], Done], configs: list[Config], parent: int) -> Done:
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
