"""Error messages of Hydra and OmegaConf, in one line each."""

from collections.abc import Generator
from contextlib import contextmanager
from traceback import walk_tb

from synthlab.config.families import refuse_other_family
from synthlab.config.registry import describe_unknown, describe_unknown_key
from synthlab.errors import InputError, require

# The launchers of conf/hydra/jobs: the extra that installs each, and the package that it adds.
LAUNCHERS = {
    "joblib": ("sweep", "hydra_plugins.hydra_joblib_launcher"),
    "submitit_local": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "submitit_slurm": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "ray": ("ray", "ray"),
}


@contextmanager
def input_errors(overrides: list[str]) -> Generator[None]:
    """Turn exceptions of Hydra and OmegaConf about bad ``overrides`` into InputError."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise InputError(_explain(error, overrides)) from None
    except Exception as error:  # Hydra passes on its parsers' errors: invalid YAML, a list as a name
        if isinstance(error, InputError) or not _is_raised_by_hydra(error):
            raise
        raise InputError(_explain_other(error, overrides)) from None


def _explain(error: Exception, overrides: list[str]) -> str:
    """Return Hydra's or OmegaConf's complaint in one line: the field, the value, what is allowed."""
    from omegaconf.errors import MissingMandatoryValue

    text = " ".join(str(error).split())
    cause = error.__cause__ if error.__cause__ is not None else error
    missing: str | None = getattr(error, "missing_cfg_file", None)
    options: list[str] | None = getattr(error, "options", None)
    if missing and options:
        group, _, name = missing.rpartition("/")
        if group == "hydra/launcher":
            require_launcher(name)
        return describe_unknown(group.removesuffix(".yaml"), name, options)
    if text.startswith("Could not override '"):
        key = text.split("'")[1]
        elsewhere = refuse_other_family(_echo(key, overrides), overrides)
        if elsewhere is not None:
            return elsewhere
        if "No match in the defaults list" in text:  # Hydra accepts every folder of settings that it finds as a group
            why = f"{key} is a folder of settings for other commands; if it is yours, in --config-dir, rename it"
            return f"{_echo(key, overrides)}: unknown key; {why}"
        parent = getattr(cause, "parent_node", None)
        choices = [] if parent is None or parent._is_none() else [str(name) for name in parent]
        return describe_unknown_key(_echo(key, overrides), sorted(name for name in choices if name != "hydra"))
    if text.startswith("Could not delete from config."):
        key = text.split("'")[1]
        return f"{_echo(key, overrides)}: cannot be taken away; {text.removeprefix('Could not delete from config. ')}"
    if text.startswith(("Sweep parameters '", "Ambiguous value for argument '")):
        return f"{text.split(chr(39))[1]}: more than one value; add -m to sweep over them"
    if text.startswith("BasicSweeper does not support"):
        given = next((given for given in overrides if "interval(" in given), "interval()")
        return f"{given}: an interval has no list of values; give them one by one, or range(START,STOP,STEP)"
    override = getattr(error, "override", None)
    if str(cause).startswith("Cannot merge DictConfig with"):
        given = text.removeprefix("Error merging override ")
        return f"{given}: has keys of its own; give those, as in {given.partition('=')[0]}.KEY=VALUE"
    if override is not None:
        return f"{override}: cannot be read; write key=value, and quote values with special characters"
    if isinstance(error, MissingMandatoryValue):
        return f"{_echo(str(error.full_key), overrides)}: must be given a value"
    key = getattr(cause, "full_key", None)
    if key:
        return f"{_echo(key, overrides)}: {str(cause).splitlines()[0]}"
    return text


def _explain_other(error: Exception, overrides: list[str]) -> str:
    """Return the message, in one line, of an error that is none of Hydra's own classes."""
    given, text = _find_override(error) or " ".join(overrides) or "command line", " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename:
        values = {each: each.partition("=")[2].strip("'\"") for each in overrides}
        given = next((each for each, value in values.items() if value and value in str(error.filename)), given)
        return f"{given}: {error.filename} cannot be opened ({error.strerror})"
    if given.startswith("="):
        return f"{given}: cannot be read; write key=value"
    if "must be a string or a list" in text:
        return f"{given}: must be the name of a file of that group"
    return f"{given}: {text}"


def require_launcher(name: str) -> None:
    """Raise InputError if ``name`` is one of the lab's launchers and its extra is not installed."""
    if name in LAUNCHERS:
        extra, package = LAUNCHERS[name]
        require(extra, package, what=f"hydra/launcher={name}")


def _echo(key: str, overrides: list[str]) -> str:
    """Return ``key=value`` as it was given, or the key alone."""
    return next((given for given in overrides if given.lstrip("+~").split("=")[0] == key), key)


def _is_raised_by_hydra(error: Exception) -> bool:
    """Return True if the innermost frame of Hydra and the lab belongs to Hydra."""
    packages = [frame.f_globals.get("__name__", "").split(".")[0] for frame, _ in walk_tb(error.__traceback__)]
    named = [package for package in packages if package in ("hydra", "omegaconf", "synthlab", "experiments")]
    return named[-1:] in (["hydra"], ["omegaconf"])


def _find_override(error: Exception) -> str | None:
    """Return the override that Hydra was processing when it raised ``error``; None if that is unknown."""
    found = None
    for frame, _ in walk_tb(error.__traceback__):
        found = getattr(frame.f_locals.get("override"), "input_line", found)
    return found
