"""Saved weights of a trained model: a file for each of some training steps.

``save`` decides which steps. ``weights``: the last one. ``checkpoints``: also the first, second, fourth, eighth, ...
point of the training curve, so the distance between checkpoints doubles and most are early in training. A list of
steps: also these steps. Checkpoints are points of the training curve, so each has a loss.
"""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from synthlab.config.base import Config
from synthlab.config.registry import describe_unknown, show
from synthlab.errors import InputError

SAVED = ("weights", "checkpoints")
WEIGHTS = "weights.safetensors"  # the weights after the last step
NAME = re.compile(r"weights(?:-([1-9][0-9]{0,18}))?\.safetensors")
SHOWN = 3  # the most steps that a message names

Save = str | list[int] | None


def check_save(save: Any) -> Save:
    """Return ``save``, with steps as a list. Raises InputError for an invalid one."""
    if save is None or (isinstance(save, str) and save in SAVED):
        return save
    if isinstance(save, str):
        raise InputError(f"{describe_unknown('save', save, SAVED)}, or give a list of steps")
    is_list = isinstance(save, Sequence) and not isinstance(save, bytes | bytearray | memoryview)
    if is_list and save and all(_is_step(step) for step in save):
        return [int(step) for step in save]
    raise InputError(f"save={show(save)}: must be {' or '.join(SAVED)}, or a list of steps such as [100, 1000]")


def steps_to_keep(save: Save, config: Config) -> list[int]:
    """Return the steps of a run after which its weights are saved, in order; none for ``save=None``.

    Raises InputError for a step after which they cannot be saved.
    """
    if save is None:
        return []
    points = config.checkpoints
    chosen = [points[2**k - 1] for k in range(len(points).bit_length())] if save == "checkpoints" else []
    if isinstance(save, list):
        chosen = [check_step(step, config, f"save={show(save)}") for step in save]
    return sorted({*chosen, config.steps})


def check_step(step: Any, config: Config, given: str) -> int:
    """Return ``step`` if it is the last step or a point of the training curve.

    With an extension, that is the curve of the second training. Raises InputError for another step; it names ``given``.
    """
    points = config.checkpoints
    if _is_step(step) and (step in points or step == config.steps):
        return int(step)
    some = [*map(str, points[:SHOWN]), *(["..."] if len(points) > SHOWN else [])]
    steps = f"{', '.join(some)} or {config.steps}" if some else str(config.steps)
    raise InputError(f"{given}: must be a step of the training curve of the tested model: {steps}")


def weights_name(step: int, config: Config) -> str:
    """Return the name of the file of the weights after ``step``."""
    return WEIGHTS if step == config.steps else f"weights-{step}.safetensors"


def is_weights(name: str) -> bool:
    """Return True if a file of a record holds weights."""
    return NAME.fullmatch(name) is not None


def step_of(name: str, config: Config) -> int:
    """Return the step of the weights in a file of a record: the inverse of ``weights_name``."""
    found = NAME.fullmatch(name)
    assert found is not None  # see ``is_weights``
    return int(found[1]) if found[1] else config.steps


def _is_step(step: Any) -> bool:
    return isinstance(step, Integral) and not isinstance(step, bool)
