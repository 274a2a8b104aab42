"""What is printed: results on standard output, everything else on standard error, and what if nobody reads it."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any


def say(*lines: Any) -> None:
    """Print lines on standard output. That its reader has gone (``| head``) or its disk is full costs nothing else."""
    _print(lines, sys.stdout)


def tell(*lines: Any) -> None:
    """Print lines on standard error, likewise."""
    _print(lines, sys.stderr)


@contextmanager
def said() -> Iterator[None]:
    """Print in the end, as ``say`` does, what is printed meanwhile by others, who do not."""
    text = io.StringIO()
    try:
        with redirect_stdout(text):
            yield
    finally:
        say(text.getvalue().rstrip("\n"))


def open_streams() -> None:
    """Have standard streams that whoever started this has closed lead nowhere: else the next file that is opened takes
    the place of one, and libraries that flush it fail."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)  # workers' too
    os.close(opened)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115 - open until the end


def _print(lines: tuple[Any, ...], stream: Any) -> None:
    if stream is None:  # closed by whoever started this, and not opened by open_streams
        return
    try:
        print(*lines, sep="\n", file=stream, flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # or Python complains at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
