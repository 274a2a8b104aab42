"""Families of tasks in ``conf/``: which family a task belongs to, and which keys the runs of each family have.

A file of ``conf/task/`` names its family. The file of that name in ``conf/family/`` has what the family's runs are made
of, with defaults. So ``task=copy`` decides what else can be set.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synthlab.config.registry import find_class
from synthlab.errors import InputError

if TYPE_CHECKING:
    from synthlab.config.base import Config

FAMILY = "family@_global_"  # the key by which Hydra takes another file of conf/family/
CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # package.module:Class
MOST_NAMED = 8  # tasks in a message
OPTIONS = "protocol.options."  # how a key begins that no file of conf/ has: an argument of the user's own optimizer
folders: list[Path] = []  # of config files of the user's own, which the command line names


def conf_dir() -> Path:
    """Where the config files are: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    return next(path for path in (here / "conf", here.parent / "conf") if path.is_dir())


@cache
def families() -> dict[str, dict[str, Any]]:
    """Return what each file of ``conf/family/`` holds, by the family's name; the first is the default."""
    import yaml

    paths = (conf_dir() / "family").glob("*.yaml")
    found = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}
    return dict(sorted(found.items(), key=lambda item: (item[0] != "numbers", item[0])))


def kind_of_family(family: str) -> "type[Config]":
    """Return the kind of runs that a family has."""
    from synthlab.config.base import kind_of

    return kind_of({"kind": families()[family]["kind"]})


def groups_of(family: str) -> list[str]:
    """Return the config groups of which a family's runs have a member each, ``task`` first."""
    entries: list[Any] = families()[family]["defaults"]
    named = [str(key) for each in entries if isinstance(each, dict) for key in cast(dict[str, Any], each)]
    return ["task", *(key.lstrip("/") for key in named)]


def keys_of(family: str) -> list[str]:
    """Return the keys that a family's runs have beside those of all runs."""
    own = [key for key in families()[family] if key not in ("defaults", "kind")]
    return list(dict.fromkeys([*groups_of(family)[1:], *own]))


@cache
def _families_of_tasks() -> dict[str, str]:
    return {path.stem: _family_in(path) for path in sorted((conf_dir() / "task").glob("*.yaml"))}


def _family_in(path: Path) -> str:
    found = re.search(r"^family: *(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else next(iter(families()))


def tasks_of(family: str) -> list[str]:
    """Return the names of a family's tasks."""
    return [task for task, each in _families_of_tasks().items() if each == family]


def family_of(task: str) -> str:
    """Return the family of a task: of a file in ``conf/task/`` or a folder of the user's own, or of a class.

    A task that is not known counts to the first family, which refuses it. Raises InputError for a class that cannot be
    imported, or is of no family.
    """
    if CLASS.fullmatch(task):
        made = find_class(task, "task")
        bases = {family: kind_of_family(family).load_family().TASKS.base for family in families()}
        for family, base in bases.items():
            if isinstance(made, type) and issubclass(made, base):
                return family
        names = [f"{base.__module__}.{base.__name__}" for base in bases.values()]
        raise InputError(f"task={task}: must be a subclass of {', '.join(names[:-1])} or {names[-1]}")
    for path in (folder / "task" / f"{task}.yaml" for folder in folders):
        if path.is_file():
            return _family_in(path)
    return _families_of_tasks().get(task, next(iter(families())))


def expand(overrides: Iterable[str]) -> list[str]:
    """Return overrides of a run as Hydra takes them.

    With ``task=copy`` comes the task's family. A class of one's own, as in ``encoding=mine:LogDistance
    encoding.scale=2``, has no file in ``conf/``: it takes the place of the group's member, and its arguments are added,
    as is a member within it (``encoding@encoding.inner=rope``).
    """
    given = list(overrides)
    values = {key: value.strip("'\"") for key, _, value in (each.partition("=") for each in given)}
    own = {key for key, value in values.items() if key.isidentifier() and CLASS.fullmatch(value) and _is_group(key)}
    first = next(iter(families()))
    family = family_of(values["task"].split(",")[0].strip()) if "task" in values else first
    found: list[str] = []
    for index, each in enumerate(given):
        key = each.partition("=")[0]
        if key in own:
            if any(later.partition("=")[0] == key for later in given[index + 1 :]):
                continue  # the last one holds, as on any command line
            # What the family sets of the member that it has; nothing of it is meant for this class.
            replaced = families().get(values.get(FAMILY, family), {}).get(key, {})
            found += [f"~{key}", *(f"~{key}.{argument}" for argument in replaced), f"+{key}.name={values[key]}"]
        else:
            is_own = key.split("@")[0].split(".")[0] in own
            found.append(f"+{each}" if is_own else f"++{each}" if key.startswith(OPTIONS) else each)
    if FAMILY not in values and family != first:
        found.append(f"{FAMILY}={family}")
    return found


def _is_group(key: str) -> bool:
    """Whether the members of a group are classes; a protocol is a file of settings."""
    return key == "tracker" or (key != "protocol" and any(key in groups_of(family) for family in families()))


def drop_families(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a composed config without the families that its tasks name, which ``kind`` stands for from here on."""
    return {key: _drop_family(value) if key == "task" else value for key, value in config.items()}


def _drop_family(member: Any) -> Any:
    if not isinstance(member, dict):
        return member
    members = cast(dict[str, Any], member)
    return {key: _drop_family(value) for key, value in members.items() if key != "family"}


def refuse_other_family(given: str, overrides: Iterable[str]) -> str | None:
    """Return the line that refuses ``given`` (``key=value``), a key that runs of other families have; None for a key
    that no family has."""
    key = given.lstrip("+~").split("=")[0].split(".")[0].split("@")[0]
    homes = [family for family in families() if key in keys_of(family)]
    task = next((each.partition("=")[2] for each in overrides if each.startswith("task=")), "mean")
    family = family_of(task.strip("'\"").split(",")[0])
    if not homes or family in homes:
        return None
    tasks = [task for each in homes for task in tasks_of(each)]
    names = ", ".join(tasks[:MOST_NAMED]) + (f" and {len(tasks) - MOST_NAMED} more" if len(tasks) > MOST_NAMED else "")
    answers = " or ".join(kind_of_family(each).answer for each in homes)
    here = kind_of_family(family).answer
    return f"{given}: only tasks with {answers} for an answer have it ({names}); task={task} answers with {here}"
