"""Runs followed by a tracker whose errors cost no run."""

import math
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from synthlab.config.base import Config
from synthlab.errors import in_one_line
from synthlab.storage.records import Record
from synthlab.sweeps.trackers.base import Tracker

_lock = threading.Lock()
_given_up: set[str] = set()  # keys of the trackers that have failed in this process


class Followed:
    """A tracker whose errors end no run: the first is reported in one line on stderr, and the tracker is then disabled
    in this process (each worker has a copy of its own)."""

    def __init__(self, name: str, tracker: Tracker):
        self.name, self.tracker = name, tracker
        self.key = secrets.token_hex(8)  # is pickled too, so that a worker knows what it has given up

    @contextmanager
    def following(self, configs: Sequence[Config]) -> Iterator["Tracks"]:
        """Follow the runs of an ensemble. Those that have not ended at the end of the block have failed."""
        tracks, error = Tracks(self, configs), "it left no record"
        try:
            yield tracks
        except BaseException as problem:
            error = in_one_line(problem)
            raise
        finally:
            tracks.end([None] * len(configs), error)

    def tried(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What ``call`` returns; None where the tracker fails, or has failed."""
        if self.key in _given_up:
            return None
        try:
            return call(*arguments)
        except Exception as problem:  # a tracker, or what it talks to, can fail in any way
            with _lock:
                first = self.key not in _given_up
                _given_up.add(self.key)
            if first:
                from tqdm import tqdm

                line = f"tracker={self.name}: given up ({in_one_line(problem)}); runs go on without it"
                tqdm.write(line, file=sys.stderr)  # above the bar, where there is one
            return None

    def each(self, call: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """``tried`` for each run of an ensemble, as many at once as the tracker takes."""
        if self.tracker.at_once == 1:
            return list(map(partial(self.tried, call), *arguments))
        with ThreadPoolExecutor(self.tracker.at_once) as pool:
            return list(pool.map(partial(self.tried, call), *arguments))


class Tracks:
    """The runs of an ensemble, followed together."""

    def __init__(self, followed: Followed, configs: Sequence[Config]):
        self._followed = followed
        self._tracks = followed.each(followed.tracker.begin, configs)

    def observe(self, step: int, losses: list[float]) -> None:
        """Log a point of each training curve, as ``train`` gives them; nan stands for a run that has diverged."""
        for track, loss in zip(self._tracks, losses, strict=True):
            if not math.isnan(loss):
                self._followed.tried(lambda track=track, loss=loss: track.point(step, loss))

    def end(self, records: Sequence[Record | None], error: str | None = None) -> None:
        """End each run with its record, in order, or with None for one that failed. A second call does nothing."""
        tracks, self._tracks = self._tracks, []
        if tracks:
            self._followed.each(lambda track, record: track.end(record, error), tracks, records)
