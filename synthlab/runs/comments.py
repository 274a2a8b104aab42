"""The comments of the files of ``conf/``, which explain each key where its default is set."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from synthlab.runs.conf_files import conf_dir, user_folders

KEY = re.compile(r"(?P<indent> *)(?P<item>- )?(?P<key>[\w/@]+):(?P<value>.*?)(?: +# (?P<comment>.*))?")


class Comments(NamedTuple):
    """The comments of one file: of the file itself, and of its keys by dotted name."""

    title: str
    keys: dict[str, str]


@cache
def read_comments(path: Path) -> Comments:
    """Return the comments of a YAML file. Comment-only lines at the same column continue a comment."""
    title: list[str] = []
    keys: dict[str, list[str]] = {}
    parents: list[tuple[int, str]] = []
    column, last = -1, title
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line and not keys:  # an empty line ends the title
            last = []
        if line.lstrip().startswith("# "):
            if (not keys and not parents) or line.index("#") == column:
                last.append(line.strip()[2:])
            continue
        match = KEY.fullmatch(line)
        if not match:
            continue
        indent = len(match["indent"])
        parents = [(depth, key) for depth, key in parents if depth < indent]
        name = match["key"].lstrip("/")
        inside = [] if match["item"] else [key for _, key in parents]  # entries of the defaults list name groups
        parents.append((indent, name))
        last, column = keys.setdefault(".".join([*inside, name]), []), -1
        if match["comment"]:
            last.append(match["comment"])
            column = match.start("comment") - 2
    return Comments(" ".join(title), {key: " ".join(words) for key, words in keys.items() if words})


def find_group_files(group: str) -> list[Path]:
    """Return the files of a config group, those of the user's own folders first."""
    return [path for folder in (*user_folders, conf_dir()) for path in sorted((folder / group).glob("*.yaml"))]


def comments_of_member(group: str, name: str) -> Comments:
    """Return the comments of a group's member; a key without one gets that of another file of the group."""
    files = find_group_files(group)
    found = [read_comments(path) for path in sorted(files, key=lambda path: path.stem != name)]
    title = found[0].title if any(path.stem == name for path in files) else ""
    return Comments(title, {key: text for each in reversed(found) for key, text in each.keys.items()})
