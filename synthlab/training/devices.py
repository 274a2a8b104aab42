"""Devices and threads that runs train on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path

import torch

from synthlab.errors import InputError
from synthlab.runs.registry import describe_unknown

DEVICES = ("cpu", "cuda", "auto")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container on Linux (cgroup v2): microseconds of CPU in each period


def find_device(name: str) -> str:
    """Return ``name``, or for ``auto`` the selected device. Raises InputError for a device that is not available."""
    if name not in DEVICES:
        raise InputError(describe_unknown("device", name, DEVICES))
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise InputError("device=cuda: there is none on this machine; choose cpu or auto")
    return "cuda" if has_cuda and name != "cpu" else "cpu"


def count_cores() -> int:
    """Return the number of cores that this process may use, by its CPU affinity and its container's CPU quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # there is no such file, or it says max, for no quota
        quota, period = map(int, CPU_QUOTA.read_text().split())
        cores = min(cores, ceil(quota / period))
    return cores


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Compute on one thread: the order of sums is then fixed, and processes do not compete for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
