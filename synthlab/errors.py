"""The errors that end a command in one line each."""


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


def in_one_line(error: BaseException) -> str:
    """The error's type and, if it has any, its text: ``KeyError: 'name'``."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
