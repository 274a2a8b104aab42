"""What is printed: results on standard output, everything else on standard error, and what if nobody reads it."""

import os
import sys
from contextlib import suppress
from typing import Any


def say(*lines: Any) -> None:
    """Print lines on standard output. That its reader has gone (``| head``) or its disk is full costs nothing else."""
    _print(lines, sys.stdout)


def tell(*lines: Any) -> None:
    """Print lines on standard error, likewise."""
    _print(lines, sys.stderr)


def _print(lines: tuple[Any, ...], stream: Any) -> None:
    if stream is None:  # closed by whoever started this
        return
    try:
        print(*lines, sep="\n", file=stream, flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # or Python complains at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
