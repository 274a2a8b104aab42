"""Command-line arguments and error exit of the commands that do not use Hydra."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from synthlab.errors import InputError
from synthlab.output import print_err


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses bad arguments in one line."""

    def error(self, message: str) -> NoReturn:
        refuse(message)


def refuse(*lines: str) -> NoReturn:
    """Print a line for each problem with the input, and end the command with status 2."""
    print_err(*(f"error: {line}" for line in InputError(*lines).lines))
    sys.exit(2)


@contextmanager
def exit_on_input_error() -> Iterator[None]:
    """Print a line for each problem and end the command with status 2, if the block raises InputError."""
    try:
        yield
    except InputError as error:
        refuse(*error.lines)
