"""Errors of Hydra and OmegaConf, in one line each that begins with the override as it was given."""

from collections.abc import Generator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import Any

from synthlab.config.families import FAMILY, conf_dir, families, families_of_tasks, groups_of
from synthlab.config.registry import describe_unknown, describe_unknown_key, key_of
from synthlab.errors import InputError, require

# The launchers of sweeps: the extra that installs each, and the package that it adds.
LAUNCHERS = {
    "joblib": ("sweep", "hydra_plugins.hydra_joblib_launcher"),
    "submitit_local": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "slurm": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "ray": ("ray", "ray"),
}


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
    except (InputError, BrokenExecutor):  # of a class of the user; of a launcher that lost a worker
        raise
    except Exception as error:
        raise InputError(_describe(error, overrides)) from None


def _describe(error: Exception, overrides: Sequence[str]) -> str:
    from hydra.errors import ConfigCompositionException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError

    unread = getattr(error, "override", None) or next((each for each in overrides if not key_of(each)), None)
    if unread is not None:
        return f"{unread}: cannot be read; write key=value, and quote values with special characters"
    unnamed = [each.input_line for each in _parse(overrides) if _is_group(each.key_or_group) and not _is_name(each)]
    if unnamed:
        return f"{unnamed[0]}: must be the name of a file of that group"
    cause: Any = error.__cause__ or error
    message = next(iter(str(error).strip().splitlines() or str(cause).splitlines()), type(error).__name__)
    missing: str | None = getattr(error, "missing_cfg_file", None)
    options: list[str] | None = getattr(error, "options", None)
    group, _, name = (missing or "").rpartition("/")
    if group == "hydra/launcher":
        require_launcher((_find(group, overrides) or "").partition("=")[2])  # its file may build on another
    if missing and options:
        return describe_unknown(group, name, options)
    key = str(getattr(cause, "full_key", None) or "")
    if isinstance(cause, ConfigAttributeError | ConfigKeyError):
        parent = cause.parent_node
        known = [] if parent is None or parent._is_none() else sorted({str(name) for name in parent} - {"hydra"})
        if "task" in known and "kind" not in known:
            given = _find("task", overrides) or "task"
            return f"{given}: its file names no family; begin it with defaults: [_self_, {FAMILY}: sequences]"
        return describe_unknown_key(_find(key, overrides) or key, known)
    several = [each.input_line for each in _parse(overrides) if each.is_sweep_override()]
    if several and isinstance(error, ConfigCompositionException):
        return f"{several[0]}: more than one value; add -m to sweep over them"
    given = _find(key, overrides) or next((each for each in overrides if f"'{key_of(each)}'" in message), None)
    return f"{given or ' '.join(overrides) or 'config'}: {message.rstrip('.')}{_describe_groups(given, overrides)}"


def _parse(overrides: Sequence[str]) -> list[Any]:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_overrides(list(overrides))


def _is_group(key: str) -> bool:
    return "/" in key or (conf_dir() / key).is_dir()


def _is_name(override: Any) -> bool:
    return override.is_sweep_override() or isinstance(override.value(), str | dict | None)


def _find(key: str, overrides: Sequence[str]) -> str | None:
    """Return the override of a key, or of one within it; None if there is none."""
    return next((each for each in overrides if key and f"{key_of(each)}.".startswith(f"{key}.")), None)


def _describe_groups(given: str | None, overrides: Sequence[str]) -> str:
    """Return which groups the task of a run has, if ``given`` chooses a member of a group that only others have."""
    task = next((each.partition("=")[2] for each in reversed(overrides) if key_of(each) == "task"), "mean")
    family, every = families_of_tasks().get(task), {group for each in families() for group in groups_of(each)}
    if family is None or given is None or key_of(given) not in every:
        return ""
    return f"; task={task} has the groups {', '.join(groups_of(family)[1:])}"
