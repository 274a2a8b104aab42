"""What Hydra and OmegaConf complain of, in one line each."""

from collections.abc import Generator
from contextlib import contextmanager

from synthlab.config.registry import unknown, unknown_key
from synthlab.errors import InputError, require

# The launchers that conf/hydra/jobs sets up: the extra that installs each, and the package that it adds.
LAUNCHERS = {
    "joblib": ("sweep", "hydra_plugins.hydra_joblib_launcher"),
    "submitit_local": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "submitit_slurm": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "ray": ("ray", "ray"),
}


@contextmanager
def input_errors(overrides: list[str]) -> Generator[None]:
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
    missing: str | None = getattr(error, "missing_cfg_file", None)
    options: list[str] | None = getattr(error, "options", None)
    if missing and options:
        group, _, name = missing.rpartition("/")
        if group == "hydra/launcher":
            require_launcher(name)
        return unknown(group.removesuffix(".yaml"), name, options)
    if text.startswith("Could not override '"):
        key = text.split("'")[1]
        if "No match in the defaults list" in text:  # Hydra takes each folder of settings that it finds for a group
            why = f"{key} is a folder of settings for other commands; if it is yours, in --config-dir, rename it"
            return f"{_given(key, overrides)}: unknown key; {why}"
        parent = getattr(cause, "parent_node", None)
        choices = [] if parent is None or parent._is_none() else [str(name) for name in parent]
        return unknown_key(_given(key, overrides), sorted(name for name in choices if name != "hydra"))
    if text.startswith("Ambiguous value for argument '"):
        return f"{text.split(chr(39))[1]}: more than one value; add -m to sweep over them"
    override = getattr(error, "override", None)
    if override is not None:
        return f"{override}: cannot be read; write key=value, and quote values with special characters"
    if isinstance(error, MissingMandatoryValue):
        return f"{_given(str(error.full_key), overrides)}: must be given a value"
    key = getattr(cause, "full_key", None)
    if key:
        return f"{_given(key, overrides)}: {str(cause).splitlines()[0]}"
    return text


def require_launcher(name: str) -> None:
    """Raises InputError if ``name`` is one of the lab's launchers and its extra is not installed."""
    if name in LAUNCHERS:
        extra, package = LAUNCHERS[name]
        require(extra, package, what=f"hydra/launcher={name}")


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
