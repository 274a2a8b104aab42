"""Trackers, by name: services that show runs while they train. Records and numbers do not depend on them.

A tracker that fails (no network, a full disk) ends no run: ``Followed`` prints one line and continues without it.
"""

import math
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from synthlab.config.base import Config
from synthlab.config.registry import Registry
from synthlab.errors import escape, format_error
from synthlab.storage.records import Record
from synthlab.sweeps.trackers.base import NoTracker, Tracker
from synthlab.sweeps.trackers.tensorboard_tracker import TensorBoard
from synthlab.sweeps.trackers.wandb_tracker import WandB

TRACKERS = Registry("tracker", Tracker, {"none": NoTracker, "wandb": WandB, "tensorboard": TensorBoard})
_failed: set[str] = set()  # keys of the trackers that have failed in this process


class Followed:
    """A tracker whose errors end no run: the first is printed in one line on stderr and disables it in this process."""

    def __init__(self, name: str, tracker: Tracker):
        self.name, self.tracker = name, tracker
        self.key = secrets.token_hex(8)  # pickled too, so that a worker knows which tracker failed in it

    @contextmanager
    def follow(self, configs: Sequence[Config]) -> Iterator["Tracks"]:
        """Follow the runs of an ensemble. Runs that have not ended at the end of the block have failed."""
        tracks, error = Tracks(self, configs), "it left no record"
        try:
            yield tracks
        except BaseException as problem:
            error = format_error(problem)
            raise
        finally:
            tracks.end([None] * len(configs), error)

    def attempt(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what ``call`` returns; None if the tracker fails, or has failed."""
        if self.key not in _failed:
            try:
                return call(*arguments)
            except Exception as problem:  # a tracker, or its service, can fail in any way
                from tqdm import tqdm

                _failed.add(self.key)
                line = f"tracker={self.name}: given up ({format_error(problem)}); runs go on without it"
                tqdm.write(escape(line), file=sys.stderr)  # above the bar, if there is one
        return None


class Tracks:
    """The runs of an ensemble, followed together."""

    def __init__(self, followed: Followed, configs: Sequence[Config]):
        self._attempt = followed.attempt
        self._tracks = [followed.attempt(followed.tracker.begin, config) for config in configs]

    def observe(self, step: int, losses: list[float]) -> None:
        """Log a point of each training curve, as ``train`` gives them; NaN stands for a run that has diverged."""
        for track, loss in zip(self._tracks, losses, strict=True):
            if track and not math.isnan(loss):
                self._attempt(track.point, step, loss)

    def end(self, records: Sequence[Record | None], error: str | None = None) -> None:
        """End each run with its record, in order, or with None for one that failed. A second call does nothing."""
        tracks, self._tracks = self._tracks, []
        for track, record in zip(tracks, records, strict=False):
            if track:
                self._attempt(track.end, record, error)


def tracker_of(config: Mapping[str, Any], tag: str | None = None) -> Followed:
    """Return the tracker that ``config`` names, for runs with a ``tag`` or none.

    Raises InputError for an unknown one, for its keys, and if its package is missing.
    """
    tracker = TRACKERS.build(config)
    tracker.tag = tag
    return Followed(config["name"], tracker)
