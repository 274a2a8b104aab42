"""Bounds on what is read from a results folder.

Anybody may have put anything there: a pipe, a device, a file of a terabyte, JSON nested a hundred thousand deep.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any, cast

MOST_BYTES = {".json": 2**24, ".csv": 2**28}  # far beyond what the lab writes
MOST_BYTES_OF_OTHERS = 2**34  # the bound for other files: weights
DEEPEST = 100  # levels of JSON


class NotRegular(OSError):
    """A path that is no regular file, or one that is too large."""


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise an error unless ``path`` can be read to its end, before opening it: opening a pipe would block.

    Raises:
        NotRegular: The path is not a regular file (or a link to one), or it is too large.
        OSError: The path does not exist or is not accessible.
    """
    about, most = os.stat(path), MOST_BYTES.get(Path(path).suffix, MOST_BYTES_OF_OTHERS)
    if not stat.S_ISREG(about.st_mode):
        raise NotRegular(f"{path} is no regular file")
    if about.st_size > most:
        raise NotRegular(f"{path} has {about.st_size:,} bytes; at most {most:,} are read")


def parse_json(data: bytes) -> Any:
    """Return parsed JSON.

    Raises:
        ValueError: The data is no JSON, or is nested more than ``DEEPEST`` deep, which could exceed the recursion
            limit.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"JSON is nested more than {DEEPEST} deep") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for part in level for inner in _inner(part)]
        if not level:
            return value
    raise ValueError(f"JSON is nested more than {DEEPEST} deep")


def _inner(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return list(cast(dict[str, Any], part).values())
    return cast(list[Any], part) if isinstance(part, list) else []
