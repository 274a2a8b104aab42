"""Devices and threads that runs train on."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from synthlab.config.registry import describe_unknown
from synthlab.errors import InputError

DEVICES = ("cpu", "cuda", "auto")


def find_device(name: str) -> str:
    """Return ``name``, or for ``auto`` the selected device. Raises InputError for a device that is not available."""
    if name not in DEVICES:
        raise InputError(describe_unknown("device", name, DEVICES))
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise InputError("device=cuda: there is none on this machine; choose cpu or auto")
    return "cuda" if has_cuda and name != "cpu" else "cpu"


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Compute on one thread: the order of sums is then fixed, and processes do not compete for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
