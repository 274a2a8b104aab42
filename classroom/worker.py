"""The page's end of the connection to the process that trains for one window.

Training has its own process. So the page responds while a model trains, windows do not wait for each other, and an
error in training ends nothing else.
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
from synthlab.errors import format_error
from synthlab.output import print_err

GRACE = 0.6  # seconds that training has to stop by itself after Stop,
WARM_GRACE = 2.0  # and, after Ready, if Stop came before the process was ready
POLITENESS = 10  # niceness of the training process


class Gone(Exception):
    """The process has ended, by itself or killed; its models are lost."""


class Worker:
    """A training process. It ends with ``close``, or with this process.

    ``grace`` is the time in seconds that it has to stop by itself before it is killed.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        # A fresh interpreter: a fork of a process that has run torch may hang.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _ignore_ctrl_c():
            self._process.start()
        theirs.close()
        self._deadline: float | None = None
        self._is_ready = False

    @property
    def is_alive(self) -> bool:
        """True if the process runs."""
        return self._process.is_alive()

    def send(self, request: Request) -> None:
        """Send a request. Raises Gone."""
        if isinstance(request, Stop):
            self._deadline = time.monotonic() + self._grace
        try:
            self._connection.send(request)
        except OSError:
            raise Gone from None

    @property
    def is_stopping(self) -> bool:
        """True if it was asked to stop training and has not confirmed it yet."""
        return self._deadline is not None

    def note_stopped(self) -> None:
        """Record that training has stopped."""
        self._deadline = None

    def replies(self) -> list[Reply]:
        """Return all replies since the last call. Raises Gone if the process has ended.

        A process that does not stop in time is killed; this then raises Gone too.
        """
        received: list[Reply] = []
        try:
            while self._connection.poll():
                received.append(self._connection.recv())
                if isinstance(received[-1], Ready):
                    self._is_ready = True
                    if self._deadline is not None:
                        self._deadline = time.monotonic() + WARM_GRACE
        except (EOFError, OSError):
            if not received:
                raise Gone from None
        # A process that is still importing has not read Stop yet; killing it would only start the imports over.
        if not received and self._is_ready and self._deadline is not None and time.monotonic() > self._deadline:
            self.close()
            raise Gone
        return received

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


@contextmanager
def _ignore_ctrl_c() -> Iterator[None]:
    """Make processes started in this context ignore Ctrl-C, which the terminal sends to them too.

    They end with the server. Only the main thread can set this; in other threads nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(connection: Connection) -> None:
    """Run the main function of the training process."""
    try:
        from classroom.laboratory import Laboratory

        if hasattr(os, "nice"):
            os.nice(POLITENESS)  # on a single core the page has priority
        Laboratory(connection).serve()
    except Exception as error:
        print_err(f"error: the process that trains has ended: {format_error(error)}")
