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
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from synthlab.cli.arguments import refuse
from synthlab.cli.data_files import check_data_files
from synthlab.config.base import BOOKKEEPING
from synthlab.config.composition import to_plain
from synthlab.config.families import conf_dir, expand, family_of, folders
from synthlab.config.hydra_errors import input_errors
from synthlab.config.sources import format_own_traceback
from synthlab.errors import InputError, RunsFailed, escape, format_error, is_of_memory
from synthlab.output import open_streams, say, tell

FAMILY_OF_TASK = r"^((?:task:|# @package task)\n(?: *\w+: .*\n)*?) *family: \w+\n?"
# Overrides that configure the sweep itself.
OF_SWEEPS = r"[+~]*hydra[./](launcher|sweeper|sweep|mode)\b"
OF_COMMANDS = rf"hydra[./]|[+~]*({'|'.join(BOOKKEEPING)})([.=]|$)"
typed: list[str] = []  # the words of the command line
of_runs: list[str] = []  # the overrides of a sweep that are for its runs


def main(
    task: Callable[[dict[str, Any]], bool],
    config_name: str,
    no_sweeps: str = "",
    interrupted: str = "finished runs are kept; the same command goes on from there",
    folder: str = "",
    data: Mapping[str, Sequence[str]] | None = None,
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

    Exit status 0: done. 1: ``task`` returned False, or a run failed. 2: the input was refused, with one line for each
    problem. 130: interrupted.
    """
    _prepare_process()
    typed[:], of_runs[:] = sys.argv[1:], []
    args = _arrange_arguments()
    report = _Report(args.overrides)
    try:
        with _sigterm_as_ctrl_c(), report.note_failures():
            _check_flags(args, no_sweeps)
            folders[:] = [Path(args.config_dir)] if args.config_dir else []
            for group, keys in (data if data and not args.shell_completion else {}).items():
                check_data_files(config_name, args.overrides, group, keys)
            if config_name == "config" and args.help:
                _print_help(args)
                sys.exit(0)
            if config_name == "config":
                sys.argv[len(sys.argv) - len(args.overrides) :] = _for_hydra(args)
            with _print_config(args.package) if _only_prints(args) else nullcontext():
                _run_hydra(task, config_name, report, folder)
    except KeyboardInterrupt:
        tell(f"interrupted: {interrupted}")
        sys.exit(130)
    if report.refused:
        tell(*(f"error: {line}" for line in report.refused))
    sys.exit(2 if report.refused else 1 if report.failed else 0)


class _Report:
    """Everything that went wrong: the lines of refused input, and whether runs failed."""

    def __init__(self, overrides: list[str]):
        self.overrides, self.failed, self.process = overrides, False, os.getpid()
        self.refused: dict[str, None] = {}  # each line once: a sweep can refuse many runs for one reason

    @contextmanager
    def note_failures(self) -> Iterator[None]:
        """Record what goes wrong in the block, and print why runs failed.

        Errors of other kinds propagate. In a launcher's worker all errors do, since nobody would read the record there.
        """
        if os.getpid() != self.process:
            yield
            return
        try:
            with input_errors(self.overrides):
                yield
        except InputError as error:
            self.refused.update(dict.fromkeys(error.lines))
        except RunsFailed as error:
            self._fail(*error.lines)
        except BrokenExecutor:
            self._fail("failed: a worker was killed, perhaps for want of memory; finished runs are kept")
        except Exception as error:
            is_own = hasattr(error, "__notes__")  # a note names the setting of a user's class (``name_own_classes``)
            if not is_own and not is_of_memory(error):
                raise
            self._fail(f"failed: {format_error(error)}", *(format_own_traceback(error) if is_own else []))

    def _fail(self, *lines: str) -> None:
        self.failed = True
        tell(*lines)


def _for_hydra(args: Namespace) -> list[str]:
    """Return the overrides that Hydra is to apply itself.

    In a sweep these are only the ones that configure the sweep: its tasks may be of several families, and the sweeper
    composes each run by itself. Raises InputError for another sweeper, to which Hydra passes one config, with tasks of
    several families.
    """
    sweeper = next((given for given in args.overrides if given.startswith("hydra/sweeper=")), None)
    if not args.multirun or sweeper:
        tasks = [task.strip() for given in args.overrides if given.startswith("task=") for task in given[5:].split(",")]
        if sweeper and len({family_of(task) for task in tasks}) > 1:
            raise InputError(f"{sweeper}: sweeps over tasks of one family; leave it out for task={','.join(tasks)}")
        return expand(args.overrides)
    of_runs[:] = [given for given in args.overrides if not re.match(OF_COMMANDS, given)]
    return [given for given in args.overrides if given not in of_runs]


def _print_help(args: Namespace) -> None:
    """Print the keys that apply to the run, or the sweep, that the command line describes."""
    with pause_garbage_collection():
        from synthlab.cli.help import describe_run
        from synthlab.config.composition import quote
    own = [f"hydra.searchpath=[{quote(Path(args.config_dir).absolute())}]"] if args.config_dir else []
    say(*describe_run([*args.overrides, *own], args.sweeps))


def _run_hydra(task: Callable[[dict[str, Any]], bool], config_name: str, report: _Report, folder: str) -> None:
    """Let Hydra carry out the command line, with ``task`` for each config to run."""
    import hydra

    def run(config: Any) -> None:
        with report.note_failures():  # Hydra would print a heading of its own for whatever a task raises
            raw = to_plain(config)
            # Commands write to folders below it: an empty path would be the root of the file system.
            if raw.get("results") == "":
                raise InputError("results=: must be the path of a folder")
            report.failed |= not task(raw)

    hydra.main(config_path=str(conf_dir() / folder), config_name=config_name, version_base="1.3")(run)()


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
    """Treat SIGTERM of a scheduler or shell as Ctrl-C: workers end, and leases are released."""
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


def parse_words(words: list[str]) -> Namespace:
    """Return the words of a command line, parsed as Hydra does."""
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.error = lambda message: refuse(message)  # in one line; Hydra would print all flags first
    return parser.parse_intermixed_args(words)


def _arrange_arguments() -> Namespace:
    """Put the command line's flags before its overrides, as Hydra requires, and return the parsed arguments.

    Drop -m where Hydra only prints, since it refuses it there.
    """
    words = sys.argv[1:]
    args = parse_words(words)
    for override in args.overrides:
        words.remove(override)
    args.sweeps = args.multirun
    if args.multirun and _only_prints(args):
        args.multirun, words = False, [word for word in words if word not in ("-m", "--multirun")]
    sys.argv[1:] = [*words, *args.overrides]
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
def _print_config(package: str | None) -> Iterator[None]:
    """Print what Hydra prints of a config, without the family that a task's file names: ``kind`` has that information.

    A ``package`` that does not exist is refused; Hydra would exit with status 1.
    """
    complaint, text = StringIO(), StringIO()
    try:
        with redirect_stdout(text), redirect_stderr(complaint) if package else nullcontext():
            yield
    except SystemExit as left:
        if left.code and package:
            raise InputError(f"--package {package}: there is no such key in the config") from None
        raise
    finally:
        if text.getvalue():
            say(re.sub(FAMILY_OF_TASK, r"\1", text.getvalue().rstrip("\n"), flags=re.MULTILINE))
