"""Bounds on what is read from a results folder, in which anybody may have put anything: a pipe, a device, a file of a
terabyte, JSON nested a hundred thousand deep."""

import json
import os
import stat
from pathlib import Path
from typing import Any, cast

MOST_BYTES = {".json": 2**24, ".csv": 2**28}  # far beyond what the lab writes
MOST_BYTES_OF_OTHERS = 2**34  # of weights
DEEPEST = 100  # levels of JSON


class NotRegular(OSError):
    """Something that is no regular file, or one that is too large."""


def check_regular(path: str | os.PathLike[str]) -> None:
    """Check that reading ``path`` comes to an end, before it is opened: opening a pipe already waits.

    Raises:
        NotRegular: It is no regular file, nor a link to one, or it is too large.
        OSError: It is not there, or cannot be looked at.
    """
    about, most = os.stat(path), MOST_BYTES.get(Path(path).suffix, MOST_BYTES_OF_OTHERS)
    if not stat.S_ISREG(about.st_mode):
        raise NotRegular(f"{path} is no regular file")
    if about.st_size > most:
        raise NotRegular(f"{path} has {about.st_size:,} bytes; at most {most:,} are read")


def parse_json(data: bytes) -> Any:
    """Return what JSON stands for.

    Raises:
        ValueError: It is no JSON, or nested more than ``DEEPEST`` deep, so that whoever looks into it would fail.
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
