"""What the command lines share: Hydra around a task function, and one line instead of a traceback for bad input."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import Any

from synthlab.errors import InputError


def main(task: Callable[[dict[str, Any]], bool], config_name: str) -> None:
    """Run ``task`` on the config that Hydra makes of ``conf/`` and the command line; exit with its status.

    Status 0: done. 1: ``task`` returned False, a run having failed. 2: the input was refused, with one line for each
    problem. 130: interrupted.
    """
    import hydra
    from omegaconf import OmegaConf

    from synthlab.config import conf_dir

    # Hydra wants -m before the overrides; here it may stand anywhere.
    sys.argv[1:] = overrides = sorted(sys.argv[1:], key=lambda word: word not in ("-m", "--multirun"))
    refused: dict[str, None] = {}  # a sweep can refuse many runs for one reason
    succeeded: list[bool] = []

    def guarded(config: Any) -> None:
        # Hydra prints a heading of its own for whatever a task raises, so bad input is reported after it has returned.
        try:
            with input_errors(overrides):
                raw = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
            succeeded.append(task(raw))
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))
        except BrokenExecutor:
            print("failed: a worker was killed, perhaps for want of memory; finished runs are kept", file=sys.stderr)
            succeeded.append(False)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us: Hydra's own report takes many lines
    app = hydra.main(config_path=str(conf_dir()), config_name=config_name, version_base="1.3")(guarded)
    try:
        with input_errors(overrides):
            _check_sweep()
            app()
    except InputError as error:
        refused.update(dict.fromkeys(error.lines))
    except KeyboardInterrupt:
        print("interrupted: finished runs are kept; the same command goes on from there", file=sys.stderr)
        sys.exit(130)
    for line in refused:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(2 if refused else 0 if all(succeeded) else 1)


def _check_sweep() -> None:
    """Refuse a sweep with a single bad run before the first one is trained. Sweepers that choose runs as they go have
    theirs checked one at a time."""
    from hydra._internal.utils import get_args_parser

    args = get_args_parser().parse_args()
    own = [override for override in args.overrides if not override.startswith("hydra")]
    if not args.multirun or any(override.startswith("hydra/sweeper") for override in args.overrides):
        return
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser

    from synthlab.assembly import resolve
    from synthlab.config import compose

    parsed = OverridesParser.create().parse_overrides(own)
    searchpath = [f"file://{os.path.abspath(args.config_dir)}"] if args.config_dir else []
    refused: dict[str, None] = {}
    for batch in BasicSweeper.split_arguments(parsed, max_batch_size=None):
        for overrides in batch:
            try:
                resolve(compose(list(overrides), searchpath))
            except InputError as error:
                refused.update(dict.fromkeys(error.lines))
    if refused:
        raise InputError(*refused)


@contextmanager
def input_errors(overrides: list[str]) -> Iterator[None]:
    """Turn what Hydra and OmegaConf raise for bad ``overrides`` into InputError."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise InputError(_explain(error, overrides)) from None
    except ValueError as error:  # Hydra raises it, bare, for overrides that it cannot apply
        if isinstance(error, InputError) or not _raised_by_hydra(error):
            raise
        raise InputError(f"{' '.join(overrides)}: {' '.join(str(error).split())}") from None


def _explain(error: Exception, overrides: list[str]) -> str:
    """Hydra's or OmegaConf's complaint in one line: the field, the value, what is allowed."""
    from omegaconf.errors import MissingMandatoryValue

    from synthlab.registry import did_you_mean, unknown

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
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(("hydra.", "omegaconf."))
