"""Output: results to standard output, everything else to standard error, even if nobody reads them; pictures."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from synthlab.errors import InputError, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def print_out(*lines: Any) -> None:
    """Print lines to standard output. A closed pipe (``| head``) or a full disk is ignored.

    Characters that steer a terminal are escaped, since texts may come from anybody's files; newlines are not.
    """
    _print(lines, sys.stdout)


def print_err(*lines: Any) -> None:
    """Print lines to standard error, as ``print_out`` does to standard output."""
    _print(lines, sys.stderr)


def _print(lines: tuple[Any, ...], stream: Any) -> None:
    if stream is None:  # closed by the parent process, and not opened by the command line
        return
    try:
        print(*(escape(line) for text in lines for line in str(text).split("\n")), sep="\n", file=stream, flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # otherwise Python reports the error at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def save_picture(figure: "Figure", field: str, path: str | os.PathLike[str] | None, **how: Any) -> None:
    """Save a picture unless ``path`` is None. Raises InputError, which names ``field``, if it cannot be written."""
    if path is None:
        return
    try:
        cast(Any, figure).savefig(path, **how)
    except (OSError, ValueError) as error:  # ValueError: an unknown format
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"{field}={path}: cannot be written ({reason})") from None
