"""What the command lines share: Hydra composes the config, a task takes it, and errors are reported in a line each."""

import gc
import os
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from synthlab.cli.arguments import refuse
from synthlab.errors import InputError, RunsFailed, escape, format_error, is_memory_error
from synthlab.output import print_err, print_out
from synthlab.runs.composition import compose, initialize_hydra, input_errors, prepare_overrides, set_version_base
from synthlab.runs.conf_files import conf_dir, user_folders
from synthlab.runs.registry import first_key
from synthlab.runs.run import COMMAND_KEYS
from synthlab.runs.sources import format_user_traceback

Task = Callable[[dict[str, Any]], bool]
GARBAGE_THRESHOLD = 50_000  # new objects between two collections: with Python's 700, imports take a fifth longer


def main(
    task: Task,
    config_name: str,
    no_sweeps: str = "",
    interrupted: str = "finished runs are kept; the same command goes on from there",
    folder: str = "",
    words: Sequence[str] | None = None,
) -> None:
    """Run ``task`` on the config that Hydra composes from ``conf/`` and the command line; exit with its status.

    Args:
        task: Takes the config, and returns False if it failed.
        config_name: The config file in ``conf/``.
        no_sweeps: Why -m is refused; empty if it is not.
        interrupted: What to tell the user after Ctrl-C.
        folder: The folder of ``conf/`` that has the config, for a command whose keys are named like groups of others.
        words: The words of the command line, if they are not those of ``sys.argv``.

    Exit status 0: done. 1: ``task`` returned False, or a run failed. 2: the input was refused, with one line for each
    problem. 130: interrupted.
    """
    _prepare_process()
    words = sys.argv[1:] if words is None else words
    args = parse_words(words)
    user_folders[:] = [Path(args.config_dir).absolute()] if args.config_dir else []
    try:
        _check_flags(args, no_sweeps)
        if args.help and config_name == "config":
            from synthlab.cli.help import describe_run

            print_out(*describe_run(args.overrides, args.sweeps))
        elif args.prints:
            _print_with_hydra(args, config_name, folder)
        elif args.multirun:
            _sweep(args, config_name, words)
        else:
            sys.exit(0 if task(compose(args.overrides, config_name, folder)) else 1)
        sys.exit(0)
    except KeyboardInterrupt:
        print_err(f"interrupted: {interrupted}")
        sys.exit(130)
    except Exception as error:
        sys.exit(_report(error))
    finally:
        user_folders.clear()


def parse_words(words: Sequence[str]) -> Namespace:
    """Return the words of a command line, parsed as Hydra does; flags may stand anywhere.

    ``prints`` is True if Hydra is to print something about the config, for which it refuses -m; ``sweeps`` is True for
    a sweep in that case too.
    """
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.error = lambda message: refuse(message)  # in one line; Hydra would print all flags first
    args = parser.parse_intermixed_args(list(words))
    args.prints = any((args.cfg, args.info, args.help, args.hydra_help, args.shell_completion))
    args.sweeps, args.multirun = args.multirun, args.multirun and not args.prints
    return args


def _prepare_process() -> None:
    # In place of closed standard streams, the null device: else the next opened file would get the descriptor of one.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)  # for workers too
    os.close(opened)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115 - open until the end
    gc.set_threshold(GARBAGE_THRESHOLD, 1, 1)
    warnings.showwarning = _warn
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # of a scheduler: workers end, and claims are released
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors propagate: Hydra's own report takes many lines
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # the user's own classes can be imported, as with python -m


def _check_flags(args: Namespace, no_sweeps: str) -> None:
    """Raise InputError for flags that do not apply, and for settings of sweeps without a sweep."""
    fixed = [flag for flag in ("config_name", "config_path", "experimental_rerun") if getattr(args, flag)]
    if fixed:
        flag = fixed[0].replace("_", "-")
        raise InputError(f"--{flag}: a command has its own config; give settings as key=value, or --config-dir")
    if args.multirun and no_sweeps:
        raise InputError(f"-m: {no_sweeps}")
    if not all(folder.is_dir() for folder in user_folders):
        raise InputError(f"--config-dir {args.config_dir}: there is no such folder")
    of_hydra = [each for each in args.overrides if first_key(each) == "hydra" and "hydra.searchpath=" not in each]
    if not args.prints and not args.sweeps and of_hydra:
        advice = "leave it out" if no_sweeps else "leave it out, or add -m"
        raise InputError(*(f"{each}: applies only to sweeps; {advice}" for each in of_hydra))
    if any("sweeper" in each for each in of_hydra):
        raise InputError("hydra/sweeper: the lab has a sweeper of its own; leave it out")


def _print_with_hydra(args: Namespace, config_name: str, folder: str) -> None:
    """Let Hydra print what the flags ask for: the config, where it comes from, or completions."""
    from hydra._internal.utils import _run_hydra, get_args_parser

    set_version_base()
    overrides = prepare_overrides(args.overrides)
    if args.shell_completion:
        with suppress(InputError):  # of a class on the line that is being typed
            prepare_overrides(os.environ.get("COMP_LINE", "").split())
    with input_errors(args.overrides):
        _run_hydra(
            args=Namespace(**(vars(args) | {"overrides": overrides})),
            args_parser=get_args_parser(),
            task_function=lambda _: None,
            config_path=str(conf_dir() / folder),
            config_name=config_name,
        )


def _sweep(args: Namespace, config_name: str, words: Sequence[str]) -> None:
    """Train every combination of the command line. The runs may be of several families: the sweep composes each."""
    from hydra._internal.callbacks import Callbacks
    from hydra.types import HydraContext, RunMode

    of_commands = [each for each in args.overrides if first_key(each) in COMMAND_KEYS]
    with input_errors(of_commands), initialize_hydra() as loader:
        config = loader.load_configuration(config_name, of_commands, run_mode=RunMode.MULTIRUN)
    from synthlab.sweeps.command import sweep

    of_runs = [each for each in args.overrides if first_key(each) != "hydra"]
    sweep(of_runs, config, HydraContext(config_loader=loader, callbacks=Callbacks()), ["synthlab", *words])


def _report(error: Exception) -> int:
    """Print what went wrong; return 2 if input was refused, 1 for failed runs. Raises an unexpected error."""
    if isinstance(error, InputError):
        print_err(*(f"error: {line}" for line in error.lines))
        return 2
    if isinstance(error, RunsFailed):
        print_err(*error.lines)
    elif isinstance(error, BrokenExecutor):
        print_err("failed: a worker was killed, perhaps for want of memory; finished runs are kept")
    elif is_memory_error(error):
        print_err(f"failed: {format_error(error)}")
    elif hasattr(error, "__notes__"):  # a note names the setting of a user's class (``note_user_classes``)
        print_err(f"failed: {format_error(error)}", *format_user_traceback(error))
    else:
        raise error
    return 1


def _warn(message: Warning | str, category: type[Warning], *where: Any, **how: Any) -> None:
    """Print a warning in one line; those of libraries, which are for developers, in Python's format."""
    if category is UserWarning:
        print_err(f"warning: {escape(str(message))}")
    else:
        print_err(warnings.formatwarning(message, category, *where[:2]).rstrip("\n"))
