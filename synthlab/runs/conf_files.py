"""Families of tasks in ``conf/``: a task's file names its family, whose file names the groups and keys of its runs."""

import inspect
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from synthlab.errors import InputError
from synthlab.runs.registry import STRICT, find_class
from synthlab.runs.run import run_type

FAMILY_KEY = "/family@_global_"  # the entry of a task's list of defaults that names its family
FAMILY_ENTRY = re.compile(rf"{FAMILY_KEY}: (\w+)|/task@\w+: (\w+)")  # a task's file names its family, or a task within
user_folders: list[Path] = []  # folders of configs of the user's own, for a command line with --config-dir


def conf_dir() -> Path:
    """Return the folder of the config files: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    return next(path for path in (here / "conf", here.parent / "conf") if path.is_dir())


@cache
def families() -> list[str]:
    """Return the names of the families of tasks; the first is the default."""
    names = (path.stem for path in (conf_dir() / "family").glob("*.yaml"))
    return sorted(names, key=lambda name: (name != "numbers", name))


def groups_of(family: str) -> list[str]:
    """Return the config groups of which a run of this family has one member each, ``task`` first."""
    return run_type(family).groups()


@cache
def class_groups() -> set[str]:
    """Return the groups whose members are classes; a protocol, in contrast, is a file of settings."""
    return {"tracker", *(group for family in families() for group in groups_of(family))} - {"protocol"}


@cache
def default_member(family: str, group: str) -> dict[str, Any]:
    """Return the default member of a config group for runs of a family, as its file describes it."""
    import yaml

    defaults = yaml.safe_load((conf_dir() / "family" / f"{family}.yaml").read_text(encoding="utf-8"))["defaults"]
    name = next(each[f"/{group}"] for each in defaults if f"/{group}" in each)
    return read_member(group, name)


@cache
def read_member(group: str, name: str) -> dict[str, Any]:
    """Return the settings of a group's file, without its list of defaults; none if there is no such file."""
    import yaml

    path = conf_dir() / group / f"{name}.yaml"
    read: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {key: value for key, value in read.items() if key != "defaults"}


@cache
def families_of_tasks() -> dict[str, str]:
    """Return the family of each task of ``conf/task/``: its file names it, or a task within, which has the same."""
    named: dict[str, str] = {}
    for path in sorted((conf_dir() / "task").glob("*.yaml")):
        found = FAMILY_ENTRY.search(path.read_text(encoding="utf-8"))
        named[path.stem] = found[1] or found[2] if found else ""
    return {task: named.get(name, name) for task, name in named.items()}


def tasks_of(family: str) -> list[str]:
    """Return the names of a family's tasks."""
    return [task for task, each in families_of_tasks().items() if each == family]


def family_of_class(name: str) -> str:
    """Return the family of a user's class of tasks. Raises InputError if it cannot be imported or has no family."""
    made = find_class(name, "task")
    bases = {family: run_type(family).load_family().groups["task"].base for family in families()}
    for family, base in bases.items():
        if isinstance(made, type) and issubclass(made, base):
            return family
    names = " or ".join(f"{base.__module__}.{base.__name__}" for base in bases.values())
    raise InputError(f"task={name}: must be a subclass of {names}")


def describe_class(group: str, name: str) -> dict[str, Any]:
    """Return the config of a user's class ``package.module:Class``, as a file of the group would have it.

    It has the name and the arguments of the constructor. An argument without a default, or with one that a config
    cannot hold, is ``???``: unless it is set, it is left to the class. An argument that may be a mapping takes a member
    of the group, as in ``encoding@encoding.inner=rope``.
    """
    taken = [each for each in _read_signature(find_class(name, group)) if each.name != "name"]
    within = [{f"/{group}@{each.name}": None} for each in taken if re.search("dict|Mapping", str(each.annotation))]
    family = [{FAMILY_KEY: family_of_class(name)}] if group == "task" else []
    return {"defaults": ["_self_", *family, *within], "name": name} | {each.name: _show_default(each) for each in taken}


def _read_signature(made: Any) -> Iterable[inspect.Parameter]:
    """Return the arguments that a config may set; those before a ``/`` come from the program."""
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):  # no class, or one without a signature: the registry refuses it
        return []
    return [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


def _show_default(parameter: inspect.Parameter) -> Any:
    """Return a default that can be given as it is, without changing the run; ``???`` for any other."""
    default = parameter.default
    if not isinstance(default, bool | int | float | str | None):
        return "???"
    try:
        kind: Any = Any if parameter.annotation is parameter.empty else parameter.annotation
        given = TypeAdapter(kind, config=STRICT).validate_python(default)
    except Exception:  # the annotation is no type of pydantic's, or does not admit the default
        return "???"
    return default if type(given) is type(default) else "???"
