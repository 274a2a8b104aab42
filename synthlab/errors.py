"""The errors that end a command in one line each."""

import re


class InputError(ValueError):
    """Input that was refused before anything ran.

    Each line of ``lines`` reads ``field=value: what is allowed``. The command line prints the lines and exits with
    status 2; Python callers get the same text.
    """

    def __init__(self, *lines: str):
        super().__init__("\n".join(lines))
        self.lines = lines

    def __reduce__(self):
        # Exceptions are pickled by their text; this keeps the lines when one crosses a process boundary.
        return (type(self), self.lines)


class DamagedRecord(InputError):
    """A record that is not as it was written."""


class StoreError(InputError):
    """A store that cannot be read or written, though it could before."""


class RunsFailed(RuntimeError):
    """Some runs raised an error; all others are recorded.

    Each line of ``lines`` says how many, or which and why. The command line prints them and exits with status 1.
    """

    def __init__(self, *lines: str):
        super().__init__("\n".join(lines))
        self.lines = lines

    def __reduce__(self):
        return (type(self), self.lines)


def is_of_memory(error: BaseException) -> bool:
    """Whether there was less memory than was asked for, whoever says so: PyTorch does in ways of its own."""
    said = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and said)


def in_bytes(number: float | int) -> str:
    """A number of bytes for people: ``74.5 GiB``."""
    return f"{number / 2**30:,.1f} GiB"


def in_one_line(error: BaseException) -> str:
    """The error's type and, if it has any, its text: ``KeyError: 'name'``."""
    if is_of_memory(error):
        asked = re.search(r"tried to allocate (\d+) bytes", str(error))
        more = f" ({in_bytes(int(asked[1]))} were asked for at once)" if asked else ""
        return f"MemoryError: there is not enough memory{more}; a smaller model, batch or length takes less"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
