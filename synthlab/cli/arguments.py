"""What the commands that are not Hydra's share: their arguments, and input that is refused in one line."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from synthlab.errors import InputError
from synthlab.output import tell


class Parser(argparse.ArgumentParser):
    """Arguments, refused in one line like everything else."""

    def error(self, message: str) -> NoReturn:
        refuse(message)


def refuse(*lines: str) -> NoReturn:
    """Print a line for each problem with the input, and end the command with status 2."""
    tell(*(f"error: {line}" for line in InputError(*lines).lines))
    sys.exit(2)


@contextmanager
def exit_on_input_error() -> Iterator[None]:
    """Where the block refuses its input, print a line for each problem and end the command with status 2."""
    try:
        yield
    except InputError as error:
        refuse(*error.lines)
