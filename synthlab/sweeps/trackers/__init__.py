"""Trackers, by name: where people follow runs while they train. Records need none, and no number depends on one.

A tracker that fails (no network, a full disk) costs no run: ``Followed`` says so in one line and goes on without it.
"""

from collections.abc import Mapping
from typing import Any

from synthlab.config.registry import Registry
from synthlab.sweeps.trackers.base import NoTracker, Tracker
from synthlab.sweeps.trackers.followed import Followed
from synthlab.sweeps.trackers.tensorboard_tracker import TensorBoard
from synthlab.sweeps.trackers.wandb_tracker import WandB

TRACKERS = Registry("tracker", Tracker, {"none": NoTracker, "wandb": WandB, "tensorboard": TensorBoard})


def tracker_of(config: Mapping[str, Any], tag: str | None = None) -> Followed:
    """The tracker that ``config`` names, of runs with a ``tag`` or none. Raises InputError, before anything is trained,
    for one that is not known, for its keys, and where its package is missing."""
    tracker = TRACKERS.build(config)
    tracker.tag = tag
    return Followed(config["name"], tracker)
