"""The Hydra application that the command lines share: it runs a task function, and reports bad input in one line."""

import gc
import os
import re
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from synthlab.cli.arguments import refuse
from synthlab.cli.data_files import check_data_files
from synthlab.config.base import BOOKKEEPING
from synthlab.config.composition import open_options, to_plain
from synthlab.config.families import conf_dir
from synthlab.config.hydra_errors import input_errors
from synthlab.config.sources import format_own_traceback
from synthlab.errors import InputError, RunsFailed, escape, format_error, is_of_memory
from synthlab.output import open_streams, say, tell

# Overrides that configure the sweep itself, and those that are for the command and not for its runs.
OF_SWEEPS = r"[+~]*hydra[./](launcher|sweeper|sweep|mode)\b"
OF_COMMANDS = rf"hydra[./]|[+~]*({'|'.join(BOOKKEEPING)})([.=]|$)"
Task = Callable[[dict[str, Any]], bool]


def main(
    task: Task,
    config_name: str,
    no_sweeps: str = "",
    interrupted: str = "finished runs are kept; the same command goes on from there",
    folder: str = "",
    data: Mapping[str, Sequence[str]] | None = None,
    words: Sequence[str] | None = None,
) -> None:
    """Run ``task`` on the config that Hydra composes from ``conf/`` and the command line; exit with its status.

    With -m, Hydra calls the sweeper that the config names.

    Args:
        task: Takes the config, and returns False if it failed.
        config_name: The config file in ``conf/``.
        no_sweeps: Why -m is refused; empty if it is not.
        interrupted: What to tell the user after Ctrl-C.
        folder: The folder of ``conf/`` that has the config, for a command whose keys are named like groups of others.
        data: Groups whose files are data, and the keys that they may have; a file with others is refused.
        words: The words of the command line, if they are not those of ``sys.argv``.

    Exit status 0: done. 1: ``task`` returned False, or a run failed. 2: the input was refused, with one line for each
    problem. 130: interrupted.
    """
    _prepare_process()
    application = Application(task, sys.argv[1:] if words is None else words)
    args = application.args
    try:
        with _sigterm_as_ctrl_c():
            _check_flags(args, no_sweeps)
            for group, keys in (data or {}).items():
                check_data_files(args, group, keys)
            if config_name == "config" and args.help:
                _print_help(application)
            else:
                application.run(config_name, folder)
    except KeyboardInterrupt:
        tell(f"interrupted: {interrupted}")
        sys.exit(130)
    except Exception as error:
        application.errors.append(error)
    sys.exit(_report(application.errors) or application.failed)


class Application:
    """What Hydra calls: one run with its config, or the lab's sweeper.

    Errors are kept, since Hydra would print a heading of its own for each. In a launcher's worker they propagate.
    """

    def __init__(self, task: Task, words: Sequence[str]):
        self.task, self.typed, self.args = task, ["synthlab", *words], parse_words(words)
        self.overrides: list[str] = open_options(self.args.overrides)
        self.failed, self.errors, self._process = False, list[Exception](), os.getpid()

    def run(self, config_name: str, folder: str) -> None:
        """Let Hydra carry out the command line. Raises InputError for what Hydra refuses."""
        from hydra import __version__, version
        from hydra._internal.utils import _run_hydra, get_args_parser

        if __version__.startswith("1.3"):  # later versions have no other behavior
            version.setbase("1.3")
        sweeps = self.args.multirun and not any(each.startswith("hydra/sweeper=") for each in self.overrides)
        # The runs of a sweep may be of several families: the lab's sweeper composes each by itself.
        own = [each for each in self.overrides if not sweeps or re.match(OF_COMMANDS, each)]
        args = Namespace(**(vars(self.args) | {"overrides": [*own]}))
        with input_errors(own), _print_config(args):
            _run_hydra(
                args=args,
                args_parser=get_args_parser(),
                task_function=self,
                config_path=str(conf_dir() / folder),
                config_name=config_name,
            )

    def __call__(self, config: Any) -> None:
        """Carry out the task with a config of Hydra's."""
        with self._keep_errors():
            with input_errors(self.overrides):
                raw = to_plain(config)
            # Commands write to folders below it: an empty path would be the root of the file system.
            if raw.get("results") == "":
                raise InputError("results=: must be the path of a folder")
            self.failed |= not self.task(raw)

    def sweep(self, config: Any, context: Any) -> None:
        """Train every combination of the command line, with the config and context of Hydra's sweepers."""
        with self._keep_errors():
            with pause_garbage_collection():
                from synthlab.sweeps.command import sweep
            sweep([each for each in self.overrides if not each.startswith("hydra")], config, context, self.typed)

    @contextmanager
    def _keep_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if os.getpid() != self._process:
                raise
            self.errors.append(error)


def _report(errors: Sequence[Exception]) -> int:
    """Print what went wrong; return 2 if input was refused, 1 for failed runs, else 0. Raises an unexpected error."""
    refused: dict[str, None] = {}  # each line once: a sweep can refuse many runs for one reason
    for error in errors:
        if isinstance(error, InputError):
            refused.update(dict.fromkeys(error.lines))
        elif isinstance(error, RunsFailed):
            tell(*error.lines)
        elif isinstance(error, BrokenExecutor):
            tell("failed: a worker was killed, perhaps for want of memory; finished runs are kept")
        elif is_of_memory(error):
            tell(f"failed: {format_error(error)}")
        elif hasattr(error, "__notes__"):  # a note names the setting of a user's class (``name_own_classes``)
            tell(f"failed: {format_error(error)}", *format_own_traceback(error))
        else:
            raise error
    if refused:
        tell(*(f"error: {line}" for line in refused))
    return 2 if refused else 1 if errors else 0


def _print_help(application: Application) -> None:
    """Print the keys that apply to the run, or the sweep, that the command line describes."""
    with pause_garbage_collection():
        from synthlab.cli.help import describe_run
        from synthlab.config.composition import quote
    args = application.args
    folder = [Path(args.config_dir).absolute()] if args.config_dir else []
    own = [f"hydra.searchpath=[{quote(each)}]" for each in folder]
    say(*describe_run([*application.overrides, *own], folder, args.sweeps))


def _prepare_process() -> None:
    open_streams()
    warnings.showwarning = _warn
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors propagate: Hydra's own report takes many lines
    here = _working_folder()
    if here not in sys.path:
        sys.path.insert(0, here)  # the user's own classes can be imported, as with python -m


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection during imports, which saves a seventh of their time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _working_folder() -> str:
    """Return the working folder. If it no longer exists, end the command with a message, before PyTorch does."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        tell("error: the working folder is gone; change to one that is there")
        sys.exit(2)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM of a scheduler or shell as Ctrl-C: workers end, and claims are released."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _warn(message: Warning | str, category: type[Warning], *where: Any, **how: Any) -> None:
    """Print a warning in one line; those of libraries, which are for developers, in Python's format."""
    if category is UserWarning:
        tell(f"warning: {escape(str(message))}")
    else:
        tell(warnings.formatwarning(message, category, *where[:2]).rstrip("\n"))


def parse_words(words: Sequence[str]) -> Namespace:
    """Return the words of a command line, parsed as Hydra does; flags may stand anywhere.

    ``sweeps`` is True for a sweep, also where Hydra only prints its config, and so refuses -m.
    """
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.error = lambda message: refuse(message)  # in one line; Hydra would print all flags first
    args = parser.parse_intermixed_args(list(words))
    args.sweeps, args.multirun = args.multirun, args.multirun and not _only_prints(args)
    return args


def _check_flags(args: Namespace, no_sweeps: str) -> None:
    """Raise InputError for flags that do not apply.

    These are a file that Hydra would unpickle, a sweep where there is none, and settings of sweeps without a sweep.
    """
    if args.experimental_rerun is not None:
        raise InputError("--experimental-rerun: would run the code in its file; give settings as key=value")
    if args.multirun and no_sweeps:
        raise InputError(f"-m: {no_sweeps}")
    if args.multirun and (args.config_name or args.config_path):
        raise InputError("-m: a sweep reads the lab's own config; give --config-dir and the names of its files")
    if not args.multirun and not _only_prints(args):
        idle = [given for given in args.overrides if re.match(OF_SWEEPS, given)]
        if idle:
            mend = "leave it out" if no_sweeps else "leave it out, or add -m"
            raise InputError(*(f"{given}: applies only to sweeps; {mend}" for given in idle))


def _only_prints(args: Namespace) -> bool:
    """Return True if Hydra is to print something about the config rather than run it."""
    return any((args.cfg, args.info, args.help, args.hydra_help, args.shell_completion))


@contextmanager
def _print_config(args: Namespace) -> Iterator[None]:
    """Print what Hydra prints of a config as the lab prints: a full disk costs no status.

    A ``package`` that does not exist is refused; Hydra would exit with status 1.
    """
    if not _only_prints(args):
        yield
        return
    text, complaint = StringIO(), StringIO()
    try:
        with redirect_stdout(text), redirect_stderr(complaint):
            yield
    except SystemExit as left:
        if left.code and args.package:
            raise InputError(f"--package {args.package}: there is no such key in the config") from None
        raise
    finally:
        if text.getvalue():
            say(text.getvalue().rstrip("\n"))
        if complaint.getvalue() and not args.package:
            tell(complaint.getvalue().rstrip("\n"))
