"""Handlers of a window's controls: their errors, and how they change Bokeh's models."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from bokeh.document import Document

from classroom.board import Board
from classroom.worker import Gone
from synthlab.errors import InputError, format_error
from synthlab.output import tell


class Handling(Protocol):
    """An object with handlers."""

    document: Document
    board: Board

    def recover(self) -> None:
        """Recover after the process has ended."""


def guard_handler(handler: Callable[..., None]) -> Callable[..., None]:
    """Return a handler whose errors become one line on the page, while the server continues."""

    @wraps(handler)
    def guard(page: Handling, *args: Any) -> None:
        try:
            handler(page, *args)
        except InputError as error:
            page.board.complain(error.lines)
        except Gone:
            page.recover()
        except Exception as error:
            line = format_error(error)
            tell(f"error: {handler.__name__}: {line}")
            page.board.complain([f"The page made a mistake ({line[:160]}). Press Clear and go on."])

    return guard


def guard_press(handler: Callable[..., None]) -> Callable[..., None]:
    """Return a guarded handler that may add and remove models.

    Bokeh then recomputes the document's models once, at the end, which takes a tenth of the time.
    """
    careful = guard_handler(handler)

    @wraps(handler)
    def press(page: Handling, *args: Any) -> None:
        with page.document.models.freeze():  # an error must not end the context
            careful(page, *args)

    return press
