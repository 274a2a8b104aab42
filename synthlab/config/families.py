"""Families of tasks in ``conf/``: which family a task belongs to, and which keys the runs of each family have.

A file of ``conf/task/`` names its family. The file of that name in ``conf/family/`` has the keys of the family's runs,
with defaults. So ``task=copy`` decides which other keys exist.
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

FAMILY = "family@_global_"  # the key by which Hydra selects a file of conf/family/
CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # pattern of package.module:Class
MOST_NAMED = 8  # the most tasks that a message lists
OPTIONS = "protocol.options."  # prefix of keys that no file of conf/ has: arguments of the user's own optimizer
folders: list[Path] = []  # folders of the user's own config files, as named on the command line


def conf_dir() -> Path:
    """Return the folder of the config files: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    return next(path for path in (here / "conf", here.parent / "conf") if path.is_dir())


@cache
def families() -> dict[str, dict[str, Any]]:
    """Return the content of each file of ``conf/family/``, by the family's name; the first is the default."""
    import yaml

    paths = (conf_dir() / "family").glob("*.yaml")
    found = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}
    return dict(sorted(found.items(), key=lambda item: (item[0] != "numbers", item[0])))


def kind_of_family(family: str) -> "type[Config]":
    """Return the kind of a family's runs."""
    from synthlab.config.base import kind_of

    return kind_of({"kind": families()[family]["kind"]})


def groups_of(family: str) -> list[str]:
    """Return the config groups of which a run of this family has one member each, ``task`` first."""
    entries: list[Any] = families()[family]["defaults"]
    named = [str(key) for each in entries if isinstance(each, dict) for key in cast(dict[str, Any], each)]
    return ["task", *(key.lstrip("/") for key in named)]


@cache
def default_member(kind: str, group: str) -> dict[str, Any]:
    """Return the default member of a config group for runs of a kind, as its file describes it."""
    import yaml

    entries: list[Any] = next(file["defaults"] for file in families().values() if file["kind"] == kind)
    names = {
        key: name for each in entries if isinstance(each, dict) for key, name in cast(dict[str, str], each).items()
    }
    return yaml.safe_load((conf_dir() / group / f"{names[f'/{group}']}.yaml").read_text(encoding="utf-8"))


def keys_of(family: str) -> list[str]:
    """Return the keys that runs of this family have in addition to those of all runs."""
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
    """Return the family of a task: of a file in ``conf/task/`` or in a folder of the user, or of a class.

    An unknown task belongs to the first family, which refuses it. Raises InputError for a class that cannot be imported
    or has no family.
    """
    if CLASS.fullmatch(task):
        made = find_class(task, "task")
        bases = {family: kind_of_family(family).load_family().groups["task"].base for family in families()}
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
    """Return the overrides of a run as Hydra takes them.

    ``task=copy`` adds the task's family. A class of the user, as in ``encoding=mine:LogDistance encoding.scale=2``, has
    no file in ``conf/``: it replaces the group's member, and its arguments are added, as is a member within it
    (``encoding@encoding.inner=rope``).
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
                continue  # a later override replaces it, as on any command line
            # The family's settings are for its default member, not for this class.
            replaced = families().get(values.get(FAMILY, family), {}).get(key, {})
            found += [f"~{key}", *(f"~{key}.{argument}" for argument in replaced), f"+{key}.name={values[key]}"]
        else:
            is_own = key.split("@")[0].split(".")[0] in own
            found.append(f"+{each}" if is_own else f"++{each}" if key.startswith(OPTIONS) else each)
    if FAMILY not in values and family != first:
        found.append(f"{FAMILY}={family}")
    return found


def _is_group(key: str) -> bool:
    """Return True if the members of a group are classes; a protocol, in contrast, is a file of settings."""
    return key == "tracker" or (key != "protocol" and any(key in groups_of(family) for family in families()))


def drop_families(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a composed config without the families that its tasks name; from here on ``kind`` has that information."""
    return {key: _drop_family(value) if key == "task" else value for key, value in config.items()}


def _drop_family(member: Any) -> Any:
    if not isinstance(member, dict):
        return member
    members = cast(dict[str, Any], member)
    return {key: _drop_family(value) for key, value in members.items() if key != "family"}


def refuse_other_family(given: str, overrides: Iterable[str]) -> str | None:
    """Return the error line for ``given`` (``key=value``), a key that only runs of other families have.

    Return None for a key that no family has.
    """
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
