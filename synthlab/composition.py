"""Configs composed by Hydra, and its complaints in one line each."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from synthlab.errors import InputError
from synthlab.registry import did_you_mean, unknown


def conf_dir() -> Path:
    """Where the config files are: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return next(path for path in (here / "conf", here.parent / "conf") if path.is_dir())


def compose(overrides: list[str], searchpath: list[str] | None = None) -> dict[str, Any]:
    """The config of one run as plain values, composed by Hydra from ``conf/`` and ``overrides`` (``key=value``).

    ``searchpath`` names folders of the user's own with further config files; inside a Hydra application its own search
    path holds. Raises InputError.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    running = GlobalHydra.instance().is_initialized()
    extra = [f"hydra.searchpath=[{','.join(searchpath)}]"] if searchpath else []
    with input_errors(overrides):
        with nullcontext() if running else initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = hydra_compose("config", overrides=[*overrides, *extra])
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def as_overrides(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Python values as Hydra overrides: ``{"model": {"width": 64}}`` gives ``model.width=64``.

    A ``name`` in a mapping chooses the group's file, as it does by itself. A class named ``package.module:Class`` is
    set as the name inside its group, since no config file bears it.
    """
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if "name" in value:
                yield from as_overrides({path: value["name"]})
            yield from as_overrides({inner: item for inner, item in value.items() if inner != "name"}, f"{path}.")
        elif isinstance(value, str) and ":" in value and not path.endswith(".name"):
            yield f"{path}.name={value}"
        elif value is None or isinstance(value, bool | int | float | str):
            yield f"{path}={json.dumps(value) if not isinstance(value, str) else value}"
        else:
            raise InputError(f"{path}={value!r}: must be a number, a string, a truth value, None or a mapping of these")


@contextmanager
def input_errors(overrides: list[str]) -> Iterator[None]:
    """Turn what Hydra and OmegaConf raise for bad ``overrides`` into InputError."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise InputError(_explain(error, overrides)) from None
    except Exception as error:  # Hydra lets through what its parsers raise: for YAML that is none, a list for a name
        if isinstance(error, InputError) or not _raised_by_hydra(error):
            raise
        given = " ".join(overrides) or "command line"
        raise InputError(f"{given}: {' '.join(str(error).split())}") from None


def _explain(error: Exception, overrides: list[str]) -> str:
    """Hydra's or OmegaConf's complaint in one line: the field, the value, what is allowed."""
    from omegaconf.errors import MissingMandatoryValue

    text = " ".join(str(error).split())
    cause = error.__cause__ if error.__cause__ is not None else error
    if getattr(error, "missing_cfg_file", None) and getattr(error, "options", None):
        group, _, name = error.missing_cfg_file.rpartition("/")
        return unknown(group.removesuffix(".yaml"), name, error.options)
    if text.startswith("Could not override '"):
        key = text.split("'")[1]
        parent = getattr(cause, "parent_node", None)
        choices = [] if parent is None or parent._is_none() else [str(name) for name in parent]
        choices = [name for name in choices if name != "hydra"]
        close = did_you_mean(key.split(".")[-1], choices)
        return f"{_given(key, overrides)}: unknown key{close}; choose from {', '.join(sorted(choices))}"
    if text.startswith("Ambiguous value for argument '"):
        return f"{text.split(chr(39))[1]}: more than one value; add -m to sweep over them"
    if getattr(error, "override", None) is not None:
        return f"{error.override}: cannot be read; write key=value, and quote values with special characters"
    if isinstance(error, MissingMandatoryValue):
        return f"{_given(error.full_key, overrides)}: must be given a value"
    if getattr(cause, "full_key", None):
        return f"{_given(cause.full_key, overrides)}: {str(cause).splitlines()[0]}"
    return text


def _given(key: str, overrides: list[str]) -> str:
    """``key=value`` as it was given, or the key alone."""
    return next((given for given in overrides if given.lstrip("+~").split("=")[0] == key), key)


def _raised_by_hydra(error: Exception) -> bool:
    """Whether of Hydra and the lab it was Hydra that had control last."""
    last, trace = "", error.__traceback__
    while trace is not None:
        package = trace.tb_frame.f_globals.get("__name__", "").split(".")[0]
        if package in ("hydra", "omegaconf", "synthlab", "experiments"):
            last = package
        trace = trace.tb_next
    return last in ("hydra", "omegaconf")
