"""Tags: names of runs that are not part of a run's identity.

An empty file ``tags/NAME/ID`` marks a run, so records themselves never change, and a run can have several tags.
"""

import re
from collections import defaultdict
from typing import Any

from synthlab.config.registry import show
from synthlab.errors import InputError
from synthlab.storage.files_base import Files

FOLDER = "tags"
TAG = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")


def check_tag(tag: Any) -> str | None:
    """Return the tag ``tag`` as text; it may be an integer, as a command line reads ``tag=2024``.

    Raises InputError for anything that is not a valid folder name everywhere.
    """
    if tag is None:
        return None
    text = str(tag) if isinstance(tag, str | int) and not isinstance(tag, bool) else ""
    if not TAG.fullmatch(text):
        raise InputError(f"tag={show(tag)}: must be a name of letters, digits, _, - and ., and not begin with a dot")
    return text


def read_tags(files: Files) -> dict[str, tuple[str, ...]]:
    """Return the tags of each run that has any, by identity, sorted."""
    tags: dict[str, list[str]] = defaultdict(list)
    for tag in filter(TAG.fullmatch, files.names(FOLDER)):
        for identity in files.names(f"{FOLDER}/{tag}"):
            tags[identity].append(tag)
    return {identity: tuple(names) for identity, names in tags.items()}


def write_tag(files: Files, tag: str, identity: str) -> None:
    """Mark a run with a tag."""
    files.write(f"{FOLDER}/{tag}/{identity}", b"")
