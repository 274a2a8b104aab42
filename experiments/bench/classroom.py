"""Reaction times of the process behind a window of the classroom, as the page uses it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from classroom.messages import Progress, Ready, Stop, Train
from classroom.worker import Worker

Wanted = TypeVar("Wanted")  # one of the replies

PATIENCE = 60.0  # seconds: a slow stop is measured here, where the page would end the process
RUN = {"task": "length", "encoding": "rope", "protocol": "classroom"}  # the slowest of the lessons' encodings


class Reaction(NamedTuple):
    """Seconds from Train to the first view of the model, views a second from then on, seconds from Stop to the last."""

    first: float
    looks: float
    stop: float


def reaction(seconds: float) -> Reaction:
    """Train a run for ``seconds`` seconds, on one core if the system supports that, and stop it."""
    with _use_one_core():
        worker = Worker(grace=PATIENCE)
        try:
            _await_message(worker, Ready)
            began = time.perf_counter()
            worker.send(Train(1, RUN | {"protocol.steps": 10**6}))
            _await_message(worker, Progress)
            first, looks = time.perf_counter(), 0
            while time.perf_counter() < first + seconds or not looks:
                _await_message(worker, Progress)
                looks += 1
            stopping = time.perf_counter()
            worker.send(Stop())
            while _await_message(worker, Progress).state != "stopped":
                pass
            return Reaction(first - began, looks / (stopping - first), time.perf_counter() - stopping)
        finally:
            worker.close()


def _await_message(worker: Worker, kind: type[Wanted]) -> Wanted:
    """Return the last message of a kind among those that come next."""
    while True:
        found = [reply for reply in worker.replies() if isinstance(reply, kind)]
        if found:
            return found[-1]
        time.sleep(0.005)


@contextmanager
def _use_one_core() -> Iterator[None]:
    """Make processes that start in the block run on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
