"""What runs train on: devices and threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from synthlab.config.registry import unknown
from synthlab.errors import InputError

DEVICES = ("cpu", "cuda", "auto")


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
