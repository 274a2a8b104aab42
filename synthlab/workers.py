"""Which runs train together, in which order, and on what: stacks of runs, worker processes, threads, devices."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import TypeVar

import torch

from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.registry import unknown

DEVICES = ("cpu", "cuda", "auto")
Done = TypeVar("Done")

# Numbers of one layer's stream in a step (see ``_size``) that a stack holds: beyond it a core gains nothing more, and
# memory grows. A step costs as much as OVERHEAD numbers before it computes any.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD = 2**14


def stacks(configs: list[RunConfig], workers: int, device: str = "cpu") -> list[list[RunConfig]]:
    """``configs`` in stacks of one shape, as large as pays, the longest work first; cut smaller where workers would
    be left without one."""
    shapes: dict[str, list[RunConfig]] = {}
    for config in configs:
        shapes.setdefault(config.shape, []).append(config)
    plan = []
    for members in shapes.values():
        members = sorted(members, key=lambda config: config.protocol.lr)  # the optimizer takes equal rates together
        plan += _parts(members, -(-len(members) // stack_size(members[0], device)))
    plan.sort(key=_cost, reverse=True)
    while len(plan) < 4 * workers and len(plan) % workers and len(plan[0]) > 1:
        plan = sorted([*_parts(plan[0], 2), *plan[1:]], key=_cost, reverse=True)
    return plan


def stack_size(config: RunConfig, device: str = "cpu") -> int:
    """How many runs of this shape a stack holds at most."""
    return max(1, CAPACITY[device] // _size(config))


def worked(work: Callable[[list[RunConfig]], Done], plan: list[list[RunConfig]], workers: int) -> Iterator[Done]:
    """What ``work`` makes of each stack, as it finishes, in at most ``workers`` processes."""
    workers = min(workers, len(plan))
    if workers == 1:
        yield from map(work, plan)
        return
    from joblib import Parallel, delayed

    # Only as many are handed out as there are workers, so that an interruption leaves no queue behind to be unwound.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch=workers)
    yield from parallel(delayed(_watched)(work, configs, os.getpid()) for configs in plan)


def find_device(name: str) -> str:
    """``name``, or what auto stands for here. Raises InputError for one that is not there."""
    if name not in DEVICES:
        raise InputError(unknown("device", name, DEVICES))
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError("device=cuda: there is none on this machine; choose cpu or auto")
    return "cuda" if there and name != "cpu" else "cpu"


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: sums then have one order, and processes do not fight over cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _watched(work: Callable[[list[RunConfig]], Done], configs: list[RunConfig], parent: int) -> Done:
    _leave_with(parent)
    return work(configs)


@cache
def _leave_with(parent: int) -> None:
    """End this worker when its parent is gone: one that is killed cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _parts(configs: list[RunConfig], count: int) -> list[list[RunConfig]]:
    """``configs`` in ``count`` parts, or as many as there are, of sizes that differ by one at most."""
    count = min(count, len(configs))
    bounds = [len(configs) * i // count for i in range(count + 1)]
    return [configs[low:high] for low, high in pairwise(bounds)]


def _size(config: RunConfig) -> int:
    """Numbers of a layer's stream in a step."""
    length, width = config.train_length, config.model.get("width", 1)
    return config.protocol.batch * length * (width + length)


def _cost(configs: list[RunConfig]) -> int:
    """How long a stack takes, up to a factor: enough to order stacks by."""
    first = configs[0]
    return first.protocol.steps * first.model.get("depth", 1) * (OVERHEAD + len(configs) * _size(first))
