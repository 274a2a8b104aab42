"""A process that trains for one window, as the page sees it.

Training has a process of its own, so that the page answers while a model trains, windows do not wait for each other,
and whatever happens to a model happens to nothing else.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from classroom.messages import Ready, Reply, Request, Stop
from synthlab.errors import in_one_line
from synthlab.output import tell

GRACE = 0.6  # seconds that training has to leave off by itself,
WARM_GRACE = 2.0  # and if it was asked to before it could begin
POLITENESS = 10  # of the process that trains, in steps of ``nice``


class Gone(Exception):
    """The process has ended, by itself or by force; its models are lost."""


class Worker:
    """Starts a process; ``close`` ends it, as the end of this one does."""

    def __init__(self) -> None:
        # A fresh interpreter: a fork of a process that has run torch may hang.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _without_ctrl_c():
            self._process.start()
        theirs.close()
        self._deadline: float | None = None
        self._is_ready = False

    @property
    def is_alive(self) -> bool:
        """Whether the process is there."""
        return self._process.is_alive()

    def send(self, request: Request) -> None:
        """Ask for something. Raises Gone."""
        if isinstance(request, Stop):
            self._deadline = time.monotonic() + GRACE
        try:
            self._connection.send(request)
        except OSError:
            raise Gone from None

    @property
    def is_stopping(self) -> bool:
        """Whether it has been asked to leave off training, and has not said that it did."""
        return self._deadline is not None

    def stopped(self) -> None:
        """Note that training has left off."""
        self._deadline = None

    def replies(self) -> list[Reply]:
        """All that has been said since the last call. Raises Gone, also if it was asked to stop and does not."""
        found: list[Reply] = []
        try:
            while self._connection.poll():
                found.append(self._connection.recv())
                if isinstance(found[-1], Ready):
                    self._is_ready = True
                    if self._deadline is not None:
                        self._deadline = time.monotonic() + WARM_GRACE
        except (EOFError, OSError):
            if not found:
                raise Gone from None
        # One that still imports has not even heard of it, and would only have to start over.
        if not found and self._is_ready and self._deadline is not None and time.monotonic() > self._deadline:
            self.close()
            raise Gone
        return found

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._connection.close()


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Have processes that start here ignore Ctrl-C, which reaches them too: they end with the page's. Only the main
    thread can see to that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(connection: Connection) -> None:
    """What the process does."""
    try:
        from synthlab.cli.hydra_app import quick_imports

        with quick_imports():
            from classroom.laboratory import Laboratory

        if hasattr(os, "nice"):
            os.nice(POLITENESS)  # on a single core, what is seen comes first
        Laboratory(connection).serve()
    except Exception as error:
        tell(f"error: the process that trains has ended: {in_one_line(error)}")
