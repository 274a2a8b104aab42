"""Errors that a command reports in one line each."""

import re
from importlib.util import find_spec
from pathlib import Path

# Characters that steer a terminal, reorder or hide text, or cannot be written: controls, directions, half surrogates.
CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class _Lines(Exception):
    """An error of several lines without characters that steer a terminal."""

    def __init__(self, *lines: str):
        self.lines = tuple(map(escape, lines))
        super().__init__("\n".join(self.lines))

    def __reduce__(self):
        # Exceptions are pickled with their message only; this keeps the lines across processes.
        return (type(self), self.lines)


class InputError(_Lines, ValueError):
    r"""Invalid input, refused before anything runs.

    The command line prints the lines and exits with status 2; in Python the message is the same.

    Attributes:
        lines: One line for each problem, ``field=value: what is allowed``.

    Example:
        >>> import synthlab
        >>> try:
        ...     synthlab.run(task="mean", train_length=0, seed=-1)
        ... except synthlab.InputError as error:
        ...     print(*error.lines, sep="\n")
        train_length=0: must be greater than 0
        seed=-1: must be greater than or equal to 0
    """


class DamagedRecord(InputError):
    """A corrupt record: its files differ from those written."""


class OlderRecord(InputError):
    """An undamaged record of an earlier results version."""


class UnknownFamily(InputError):
    """A config, or an undamaged record, of an unknown family."""


class StoreError(InputError):
    """A store that can no longer be read or written."""


class RunsFailed(_Lines, RuntimeError):
    """Some runs raised an error; the others are recorded.

    The command line prints the lines and exits with status 1.

    Attributes:
        lines: The number of failed runs, then a line for each with its error.

    Example:
        >>> import synthlab
        >>> raise synthlab.RunsFailed("failed: 1 of 5 runs", "3f2a: ValueError: no such key")
        Traceback (most recent call last):
        ...
        synthlab.errors.RunsFailed: failed: 1 of 5 runs
        3f2a: ValueError: no such key
    """


def require(extra: str, *packages: str, what: str) -> None:
    """Raise InputError, with a line for each missing package, unless all ``packages`` are installed.

    Args:
        extra: The extra of synthlab that adds them.
        packages: Their import names.
        what: The command or setting that needs them, as a user knows it.
    """
    missing = [package for package in packages if not _is_installed(package)]
    if missing:
        raise InputError(*(describe_missing(what, package, extra) for package in missing))


def describe_missing(what: str, package: str, extra: str) -> str:
    """Return the error line for ``what``, for which ``package`` of an ``extra`` is not installed."""
    is_wheel = (Path(__file__).parent / "conf").is_dir()  # a checkout has its configs beside the package
    lab = "'synthlab-lengths" if is_wheel else "-e '."
    return f"{what}: needs {package}; pip install {lab}[{extra}]'"


def escape(text: str) -> str:
    r"""Return ``text``, perhaps of a file or a user, as one line without characters that steer a terminal.

    They are written as in Python's source: ``\n``, ``\x1b``, ``\u202e``.
    """
    return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], text)


def _is_installed(package: str) -> bool:
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # the parent package is missing
        return False
    # Without origin it is a folder of that name, as wandb leaves behind.
    return spec is not None and spec.origin is not None


def is_memory_error(error: BaseException) -> bool:
    """Return True if an allocation failed: Python's MemoryError, or one of PyTorch's errors."""
    is_torch = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and is_torch)


def format_error(error: BaseException) -> str:
    """Return the error's type and message in one line: ``KeyError: 'name'``.

    An error of a user's class begins with the setting that names it: ``encoding=mine:Mine: KeyError: 'name'``.
    """
    if is_memory_error(error):
        text = "MemoryError: there is not enough memory; a smaller model, batch or length takes less"
    else:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    notes: list[str] = getattr(error, "__notes__", [])
    return ": ".join([*(" ".join(note.split()) for note in notes), text])
