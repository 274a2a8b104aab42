"""What the command lines share: Hydra around a task function, and one line instead of a traceback for bad input."""

import gc
import os
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from synthlab.config.bounds import bound_files
from synthlab.config.composition import conf_dir, input_errors
from synthlab.errors import InputError, RunsFailed, in_one_line, is_of_memory
from synthlab.output import open_streams, said, tell


def main(
    task: Callable[[dict[str, Any]], bool],
    config_name: str,
    sweep: Callable[[list[str], list[str]], bool] | str,
    interrupted: str = "finished runs are kept; the same command goes on from there",
) -> None:
    """Run ``task`` on the config that Hydra makes of ``conf/`` and the command line; exit with its status.

    With -m, run ``sweep`` on the overrides and the folders of the user's own config files; a text says why that is
    refused. A sweeper other than Hydra's basic one has ``task`` run on each config that it chooses.

    Status 0: done. 1: ``task`` returned False, or a run failed. 2: the input was refused, with one line for each
    problem. 130: interrupted; ``interrupted`` says what that leaves behind.
    """
    import hydra
    from omegaconf import OmegaConf

    open_streams()
    bound_files()
    args = _arrange_arguments()
    overrides = args.overrides
    refused: dict[str, None] = {}  # a sweep can refuse many runs for one reason
    succeeded: list[bool] = []

    def reported(work: Callable[[], bool]) -> bool:
        """What ``work`` returns; False, with a line or more, where runs failed."""
        try:
            return work()
        except RunsFailed as error:
            tell(*error.lines)
        except BrokenExecutor:
            tell("failed: a worker was killed, perhaps for want of memory; finished runs are kept")
        except (MemoryError, RuntimeError) as error:
            if not is_of_memory(error):
                raise
            tell(f"failed: {in_one_line(error)}")
        return False

    def guarded(config: Any) -> None:
        # Hydra prints a heading of its own for whatever a task raises, so problems are reported after it has returned.
        try:
            with input_errors(overrides):
                raw = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
            succeeded.append(reported(lambda: task(raw)))
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))

    warnings.showwarning = _warn
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us: Hydra's own report takes many lines
    here = _working_folder()
    if here not in sys.path:
        sys.path.insert(0, here)  # a user's own classes, as with python -m
    app = hydra.main(config_path=str(conf_dir()), config_name=config_name, version_base="1.3")(guarded)
    try:
        with _sigterm_as_ctrl_c(), input_errors(overrides):
            if args.multirun and isinstance(sweep, str):
                raise InputError(f"-m: {sweep}")
            if args.multirun and (args.config_name or args.config_path):
                raise InputError("-m: a sweep reads the lab's own config; give --config-dir and the names of its files")
            if _is_ours(args) and not isinstance(sweep, str):
                searchpath = [f"file://{os.path.abspath(args.config_dir)}"] if args.config_dir else []
                succeeded.append(reported(lambda: sweep(overrides, searchpath)))
            else:
                with said() if _is_aside(args) else nullcontext():
                    app()
    except InputError as error:
        refused.update(dict.fromkeys(error.lines))
    except KeyboardInterrupt:
        tell(f"interrupted: {interrupted}")
        sys.exit(130)
    if refused:
        tell(*(f"error: {line}" for line in refused))
    sys.exit(2 if refused else 0 if all(succeeded) else 1)


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import without looking for garbage, of which importing makes none: measured, a seventh of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _working_folder() -> str:
    """Where the command was given; ends it where that folder is gone, as PyTorch would, in its own words."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        tell("error: the working folder is gone; change to one that is there")
        sys.exit(2)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Let a scheduler's or a shell's polite kill end a command as Ctrl-C does: workers end, leases are given up."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _warn(message: Warning | str, category: type[Warning], *where: Any, **how: Any) -> None:
    """A warning in one line; those of libraries, which are for developers, as Python shows them."""
    if category is UserWarning:
        tell(f"warning: {message}")
    else:
        tell(warnings.formatwarning(message, category, *where[:2]).rstrip("\n"))


def _arrange_arguments() -> Namespace:
    """Put the command line's flags before its overrides, as Hydra wants them, and return what they say."""
    from hydra._internal.utils import get_args_parser

    words = sys.argv[1:]
    args = get_args_parser().parse_intermixed_args(words)
    for override in args.overrides:
        words.remove(override)
    if not words and not any(override.lstrip("+~").startswith("hydra") for override in args.overrides):
        words = ["--run"]  # or Hydra composes the config a first time, only to find that out
    sys.argv[1:] = [*words, *args.overrides]
    return args


def _is_ours(args: Namespace) -> bool:
    """Whether a sweep is asked for, and not one of another sweeper, or something else about it."""
    sweepers = {override for override in args.overrides if override.startswith("hydra/sweeper=")}
    return args.multirun and sweepers <= {"hydra/sweeper=basic"} and not _is_aside(args)


def _is_aside(args: Namespace) -> bool:
    """Whether Hydra is to print something about the config, and nothing to run."""
    return any((args.cfg, args.info, args.help, args.hydra_help, args.shell_completion))
