"""The one error a user's own input can cause."""


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
