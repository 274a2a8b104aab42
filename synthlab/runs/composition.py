"""Configs composed by Hydra: groups by name, once for each combination; single values are set in what it composed."""

import copy
import json
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from synthlab.errors import InputError, require
from synthlab.runs.conf_files import (
    FAMILY_KEY,
    class_groups,
    conf_dir,
    describe_class,
    families,
    families_of_tasks,
    groups_of,
    user_folders,
)
from synthlab.runs.registry import describe_unknown, describe_unknown_key, key_of, show

# Prefixes of keys that no file of conf/ has: arguments of the user's own optimizer, keys of the task that tests change.
OPTIONS = ("protocol.options.", "test_task.")
CLASS = re.compile(r"[\w.]+:\w+")  # the name of a class
SINGLE = re.compile(r"[\w.]+")  # a key of a single value
NAME = re.compile(r"(?!(null|true|false|inf|nan)$)[A-Za-z_][\w./:-]*", re.IGNORECASE)  # a text that needs no quotes
# The launchers of sweeps: the extra that installs each, and the package that it adds.
LAUNCHERS = {
    "joblib": ("sweep", "hydra_plugins.hydra_joblib_launcher"),
    "submitit_local": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "slurm": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "ray": ("ray", "ray"),
}
_turn = threading.RLock()


def compose(
    overrides: Sequence[str] = (), name: str = "config", folder: str = "", resolve: bool = True
) -> dict[str, Any]:
    """Return the config that Hydra composes of a file of ``conf/`` and ``overrides``, as plain values.

    Values that must be given and are not (``???``) are left out, so that the check of a run says which it lacks.

    Args:
        overrides: Words of a command line, as ``key=value``.
        name: The file.
        folder: Its folder in ``conf/``.
        resolve: False to leave references to other values, and missing values, as they are.

    Raises:
        InputError: Hydra refuses the overrides.
    """
    from hydra import compose as hydra_compose
    from omegaconf import OmegaConf

    with input_errors(overrides), initialize_hydra(folder):
        config = hydra_compose(name, overrides=prepare_overrides(overrides))
        values: Any = OmegaConf.to_container(config, resolve=resolve)
    return _drop_missing(values) if resolve else values


def prepare_overrides(overrides: Iterable[str]) -> list[str]:
    """Return overrides as Hydra can take them, which knows files only.

    A user's class that they name is stored as a config of its group, in place of classes that were named before. Keys
    below ``OPTIONS`` become additions.
    """
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    for group in store.repo.keys() & class_groups():  # other commands have settings of the names of these groups
        configs = {file: kept for file, kept in store.repo.pop(group).items() if not CLASS.fullmatch(file[:-5])}
        store.repo |= {group: configs} if configs else {}
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        group, name = key.partition("@")[0], value.strip("'")
        if CLASS.fullmatch(name) and group in class_groups():
            store.store(name, describe_class(group, name), group)
    return [f"++{each}" if each.startswith(OPTIONS) else each for each in overrides]


def _drop_missing(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    given = cast(dict[str, Any], values)
    return {key: _drop_missing(value) for key, value in given.items() if value != "???"}


@contextmanager
def initialize_hydra(folder: str = "") -> Generator[Any]:
    """Initialize Hydra for ``conf/``, or a ``folder`` in it, while the block runs; yield its config loader.

    A process has only one Hydra, so threads take turns. One that runs already is used as it is.
    """
    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_config_search_path
    from hydra.core.config_search_path import SearchPathQuery
    from hydra.core.global_hydra import GlobalHydra

    set_version_base()
    with _turn:
        running = GlobalHydra.instance().is_initialized()
        if not running:
            path = create_config_search_path(str(conf_dir() / folder))
            for own in user_folders:
                path.prepend("command-line", f"file://{own}", SearchPathQuery(provider="schema"))
            Hydra.create_main_hydra2("synthlab", path)
        try:
            yield GlobalHydra.instance().config_loader()
        finally:
            if not running:
                GlobalHydra.instance().clear()


def set_version_base() -> None:
    """Have Hydra 1.3 behave as itself, not as 1.1; later versions have no other behavior."""
    from hydra import __version__, version

    if __version__.startswith("1.3"):
        version.setbase("1.3")


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
        if isinstance(value, Mapping) and path != "model.mixer":  # which has no file, so its settings come with it
            group = cast(Mapping[str, Any], value)
            if "name" in group:
                yield from settings_of({path: group["name"]})
            yield from settings_of({inner: item for inner, item in group.items() if inner != "name"}, f"{path}.")
        elif value is None or isinstance(value, bool | int | float | str | list | Mapping):
            yield path, value
        else:
            must = "must be a number, a text, True, False, None, a list or a mapping of these"
            raise InputError(f"{path}={show(value)}: {must}")


def to_override(key: str, value: Any) -> str:
    """Return a setting as an override of a command line."""
    if not isinstance(value, str):
        return f"{key}={_write(value)}"
    return f"{key}={value}" if NAME.fullmatch(value) else f"{key}={quote(value)}"


def _write(value: Any) -> str:
    """Return a value as Hydra reads it: JSON, but for the keys of mappings, which have no quotes."""
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return "{" + ", ".join(f"{key}: {_write(each)}" for key, each in items) + "}"
    return f"[{', '.join(map(_write, cast(list[Any], value)))}]" if isinstance(value, list) else json.dumps(value)


def to_overrides(values: Mapping[str, Any]) -> list[str]:
    """Return Python values as overrides: ``{"model": {"width": 64}}`` gives ``model.width=64``."""
    return [to_override(key, value) for key, value in settings_of(values)]


class Composer:
    """Composes configs that share ``overrides``, in words of a command line, and differ in a few settings.

    Hydra takes 70 ms for a config. So it composes each combination of groups once, and other settings, which take
    microseconds, are set in what it composed. The overrides apply to whichever members are chosen.
    """

    def __init__(self, overrides: Iterable[str] = (), name: str = "config"):
        self.overrides, self.name = list(overrides), name
        self._composed: dict[tuple[str, ...], dict[str, Any]] = {}

    def compose(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config with ``settings`` (see ``settings_of``), which precede the overrides. Raises InputError."""
        single = dict(settings_of(settings))
        # Additions, members within members, ... are Hydra's too.
        chosen = [key for key in single if (conf_dir() / key).is_dir() or not SINGLE.fullmatch(key)]
        words = tuple(to_override(key, single.pop(key)) for key in chosen)
        if words not in self._composed:
            self._composed[words] = compose([*self.overrides, *words], self.name, resolve=False)
        config = copy.deepcopy(self._composed[words])
        for key, value in single.items():
            _set_value(config, key, value)
        if "${" not in str(config):
            return _drop_missing(config)
        from omegaconf import OmegaConf

        with input_errors(self.overrides):
            resolved: Any = OmegaConf.to_container(OmegaConf.create(config), resolve=True)
        return _drop_missing(resolved)


def _set_value(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key. Raises InputError for a key that is not there, with the choices."""
    *parents, last = key.split(".")
    part = config
    for parent in parents:
        inner = part.get(parent)
        part = cast(dict[str, Any], inner) if isinstance(inner, dict) else {}
    if last not in part and not (key.startswith(OPTIONS) and parents[0] in config):
        raise InputError(describe_unknown_key(f"{key}={show(value)}", [str(name) for name in part]))
    if isinstance(part.get(last), dict):
        raise InputError(f"{key}={show(value)}: has keys of its own; give those, as in {key}.KEY=VALUE")
    part[last] = value


def family_of(task: str) -> str:
    """Return the family of a task, of any folder or a class. Raises InputError for an unknown one."""
    found = families_of_tasks().get(task) or compose([to_override("task", task)]).get("family")
    if found is None:
        raise InputError(f"task={task}: its file names no family")
    return found


def require_launcher(name: str) -> None:
    """Raise InputError if ``name`` is one of the lab's launchers and its extra is not installed."""
    if name in LAUNCHERS:
        extra, package = LAUNCHERS[name]
        require(extra, package, what=f"hydra/launcher={name}")


@contextmanager
def input_errors(overrides: Sequence[str]) -> Generator[None]:
    """Turn any exception of Hydra, for which alone the block is, into an InputError about ``overrides``."""
    try:
        yield
    except InputError:  # of a class of the user
        raise
    except Exception as error:
        raise InputError(_describe(error, overrides)) from None


def _describe(error: Exception, overrides: Sequence[str]) -> str:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import ConfigCompositionException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError

    unread = getattr(error, "override", None) or next((each for each in overrides if not key_of(each)), None)
    if unread is not None:
        return f"{unread}: cannot be read; write key=value, and quote values with special characters"
    missing: str | None = getattr(error, "missing_cfg_file", None)
    options: list[str] | None = getattr(error, "options", None)
    group, _, name = (missing or "").rpartition("/")
    if group == "hydra/launcher":  # the file of the one chosen may build on that of another
        chosen = next((each for each in overrides if key_of(each) == group), "")
        require_launcher(chosen.partition("=")[2])
    if missing and options:
        return describe_unknown(group, name, options)
    cause: Any = error.__cause__ or error
    message = next(iter(str(error).strip().splitlines() or str(cause).splitlines()), type(error).__name__)
    key = str(getattr(cause, "full_key", None) or "")
    given = next((each for each in overrides if key and f"{key_of(each)}.".startswith(f"{key}.")), None)
    if isinstance(cause, ConfigAttributeError | ConfigKeyError):
        parent = cause.parent_node
        known = [] if parent is None or parent._is_none() else sorted({str(name) for name in parent} - {"hydra"})
        if "task" in known and "family" not in known:
            given = next((each for each in overrides if key_of(each) == "task"), "task")
            return f"{given}: its file names no family; begin it with defaults: [_self_, {FAMILY_KEY}: sequences]"
        return describe_unknown_key(given or key, known)
    parsed: Any = OverridesParser.create().parse_overrides(list(overrides))
    several = [each.input_line for each in parsed if each.is_sweep_override()]
    if several and isinstance(error, ConfigCompositionException):
        return f"{several[0]}: more than one value; add -m to sweep over them"
    given = given or next((each for each in overrides if f"'{key_of(each)}'" in message), " ".join(overrides))
    return f"{given or 'config'}: {message.rstrip('.')}{_describe_groups(given, overrides)}"


def _describe_groups(given: str, overrides: Sequence[str]) -> str:
    """Return which groups the task of a run has, if ``given`` chooses a member of a group that only others have."""
    task = next((each.partition("=")[2] for each in reversed(overrides) if key_of(each) == "task"), "mean")
    family, every = families_of_tasks().get(task), {group for each in families() for group in groups_of(each)}
    if family is None or key_of(given) not in every:
        return ""
    return f"; task={task} has the groups {', '.join(groups_of(family)[1:])}"
