"""Worker processes."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

from synthlab.config.base import Config
from synthlab.storage.leases import let_go

Done = TypeVar("Done")


def worked(work: Callable[[list[Config]], Done], plan: list[list[Config]], workers: int) -> Iterator[Done]:
    """What ``work`` makes of each stack of ``plan``, as it finishes, in at most ``workers`` processes."""
    workers = min(workers, len(plan))
    if workers == 1:
        yield from map(work, plan)
        return
    from joblib import Parallel, delayed

    # Only as many are handed out as there are workers, so that an interruption leaves no queue behind to be unwound.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch=workers)
    yield from parallel(delayed(_watched)(work, configs, os.getpid()) for configs in plan)


def apart(work: Callable[[list[Config]], Done], configs: list[Config]) -> Done:
    """What ``work`` makes of one stack in a process of its own: raises BrokenExecutor if that is killed."""
    from joblib.externals.loky import ProcessPoolExecutor  # unlike the standard library's, for scripts as they come

    with ProcessPoolExecutor(max_workers=1) as executor:
        return executor.submit(_watched, work, configs, os.getpid()).result()


def _watched(work: Callable[[list[Config]], Done], configs: list[Config], parent: int) -> Done:
    leave_with(parent)
    return work(configs)


@cache
def leave_with(parent: int) -> None:
    """End this worker when its parent is gone: one that is killed cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        let_go()  # this worker does not die of its runs
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
