"""Configs composed by Hydra: groups by name, once for each combination; single values are set in what it composed."""

import copy
import json
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, cast

from synthlab.config.families import conf_dir, families_of_tasks, family_of_kind
from synthlab.config.hydra_errors import input_errors
from synthlab.config.registry import describe_unknown_key, show
from synthlab.errors import InputError

OPTIONS = "protocol.options."  # prefix of keys that no file of conf/ has: arguments of the user's own optimizer
SINGLE = re.compile(r"[\w.]+")  # a key of a single value
NAME = re.compile(r"(?!(null|true|false|inf|nan)$)[A-Za-z_][\w./:-]*", re.IGNORECASE)  # a text that needs no quotes
_turn = threading.RLock()


def compose(overrides: Sequence[str] = (), name: str = "config") -> dict[str, Any]:
    """Return the config that Hydra composes of the file ``name`` of ``conf/`` and ``overrides``, as plain values.

    Raises InputError.
    """
    with input_errors(overrides):
        return to_plain(compose_raw(overrides, name))


def compose_raw(overrides: Sequence[str], name: str = "config") -> Any:
    """Return the composed config as Hydra's own object, with references to other values unresolved.

    Raises Hydra's exceptions.
    """
    from hydra import compose as hydra_compose

    with initialize_hydra():
        return hydra_compose(name, overrides=open_options(overrides))


def open_options(overrides: Iterable[str]) -> list[str]:
    """Return overrides with those of the user's own optimizer marked as additions, since no file has such keys."""
    return [f"++{each}" if each.startswith(OPTIONS) else each for each in overrides]


def to_plain(config: Any, resolve: bool = True) -> dict[str, Any]:
    """Return a config composed by Hydra as plain values, with references resolved.

    Values that must be given and are not (``???``) are left out, so that the check of a run says which it lacks. With
    ``resolve`` False both stay as they are.
    """
    from omegaconf import OmegaConf

    values: Any = OmegaConf.to_container(config, resolve=resolve)
    return _drop_missing(values) if resolve else values


def _drop_missing(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    given = cast(dict[str, Any], values)
    return {
        key: _drop_missing(value) for key, value in given.items() if not (isinstance(value, str) and value == "???")
    }


@contextmanager
def initialize_hydra(folder: str = "") -> Generator[Any]:
    """Initialize Hydra for ``conf/``, or a ``folder`` in it, while the block runs; yield its config loader.

    A process has only one Hydra, so threads take turns. One that runs already, as in a command, is used as it is.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    # Hydra 1.4 has only the behavior that 1.3 calls "1.3", and warns of being asked for it.
    version: Any = {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}
    with _turn:
        running = GlobalHydra.instance().is_initialized()
        with nullcontext() if running else hydra.initialize_config_dir(str(conf_dir() / folder), **version):
            yield GlobalHydra.instance().config_loader()


def quote(text: Any) -> str:
    """Return ``text`` quoted as the value of an override, whatever it contains."""
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def settings_of(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield Python values as single settings: ``{"model": {"width": 64}}`` gives ``("model.width", 64)``.

    A ``name`` in a mapping chooses the group's file or a class ``package.module:Class``, as a plain string does. Raises
    InputError for an invalid value.
    """
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            group = cast(Mapping[str, Any], value)
            if "name" in group:
                yield from settings_of({path: group["name"]})
            yield from settings_of({inner: item for inner, item in group.items() if inner != "name"}, f"{path}.")
        elif value is None or isinstance(value, bool | int | float | str | list):
            yield path, value
        else:
            must = "must be a number, a text, True, False, None, a list or a mapping of these"
            raise InputError(f"{path}={show(value)}: {must}")


def to_override(key: str, value: Any) -> str:
    """Return a setting as an override of a command line."""
    if not isinstance(value, str):
        return f"{key}={json.dumps(value)}"
    return f"{key}={value}" if NAME.fullmatch(value) else f"{key}={quote(value)}"


def to_overrides(values: Mapping[str, Any]) -> list[str]:
    """Return Python values as overrides: ``{"model": {"width": 64}}`` gives ``model.width=64``."""
    return [to_override(key, value) for key, value in settings_of(values)]


class Composer:
    """Composes configs that share ``overrides``, in words of a command line, and differ in a few settings.

    Hydra takes 70 ms for a config. So it composes tasks, and members of each other group with the first task of a
    family alone, rather than every combination. Other settings, which take microseconds, are set in what it composed.
    The overrides apply to whichever members are chosen.
    """

    def __init__(self, overrides: Iterable[str] = (), name: str = "config"):
        self.overrides, self.name = list(overrides), name
        self._composed: dict[tuple[str, ...], dict[str, Any]] = {}
        self._usual: dict[Any, dict[str, Any]] = {}  # of each kind of runs, the first task

    @cached_property
    def _groups(self) -> set[str]:
        with initialize_hydra() as loader:
            return set(loader.list_groups(""))

    def compose(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config with ``settings`` (see ``settings_of``), which precede the overrides. Raises InputError."""
        single = dict(settings_of(settings))
        # Additions, members within members, ... are Hydra's too.
        chosen = {key: value for key, value in single.items() if key in self._groups or not SINGLE.fullmatch(key)}
        config = copy.deepcopy(self._combine(chosen))
        for key, value in single.items():
            if key not in chosen:
                _set_value(config, key, value)
        return _resolve_references(config, self.overrides)

    def _combine(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config with the ``chosen`` members of groups, each of which may have members within.

        Where a task or a member changes other groups than its own, Hydra composes the combination itself.
        """
        members: dict[str, dict[str, Any]] = {}
        for key, value in chosen.items():
            members.setdefault(re.split("[.@]", key)[0], {})[key] = value
        if not self._composed or not members.keys() <= self._groups:
            return self._compose(chosen)
        task = members.pop("task", {})
        config = dict(self._compose(task))
        usual = self._usual.setdefault(config.get("kind"), task)
        plain = self._compose(usual)
        for group, own in members.items():
            alone = self._compose(usual | own)
            if config.get(group) != plain.get(group) or alone | {group: None} != plain | {group: None}:
                return self._compose(chosen)
            config[group] = alone[group]
        return config

    def _compose(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        words = tuple(to_override(key, value) for key, value in chosen.items())
        if words not in self._composed:
            with input_errors([*self.overrides, *words]):
                self._composed[words] = to_plain(compose_raw([*self.overrides, *words], self.name), resolve=False)
        return self._composed[words]


def _set_value(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key. Raises InputError for a key that is not there, with the choices."""
    *parents, last = key.split(".")
    part = config
    for parent in parents:
        inner = part.get(parent)
        part = cast(dict[str, Any], inner) if isinstance(inner, dict) else {}
    if last not in part and not key.startswith(OPTIONS):
        raise InputError(describe_unknown_key(f"{key}={show(value)}", [str(name) for name in part]))
    if isinstance(part.get(last), dict):
        raise InputError(f"{key}={show(value)}: has keys of its own; give those, as in {key}.KEY=VALUE")
    part[last] = value


def _resolve_references(config: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    if "${" not in str(config):
        return _drop_missing(config)
    from omegaconf import OmegaConf

    with input_errors(overrides):
        return to_plain(OmegaConf.create(config))


def family_of(task: str) -> str:
    """Return the family of a task, of any folder or a class. Raises InputError for an unknown one."""
    found = families_of_tasks().get(task) or family_of_kind(compose([to_override("task", task)]).get("kind"))
    if found is None:
        raise InputError(f"task={task}: its file names no family")
    return found
