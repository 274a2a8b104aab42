"""What is kept of a trained model beside its run's numbers: its weights after some steps, a file for each.

``save`` says after which steps. ``weights``: after the last one. ``checkpoints``: also after the first, second, fourth,
eighth, ... point of the training curve, so that the distance between checkpoints doubles: most are of early training. A
list of steps: also after these. Checkpoints are points of the training curve, so that each has a loss beside it.
"""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from synthlab.config.base import Config
from synthlab.config.registry import describe_unknown, show
from synthlab.errors import InputError

SAVED = ("weights", "checkpoints")
WEIGHTS = "weights.safetensors"  # those after the last step
NAME = re.compile(r"weights(?:-([1-9][0-9]{0,18}))?\.safetensors")
SHOWN = 3  # steps that a message names

Save = str | list[int] | None


def check_save(save: Any) -> Save:
    """``save``, with steps as a list. Raises InputError for what is none."""
    if save is None or (isinstance(save, str) and save in SAVED):
        return save
    if isinstance(save, str):
        raise InputError(f"{describe_unknown('save', save, SAVED)}, or give a list of steps")
    is_list = isinstance(save, Sequence) and not isinstance(save, bytes | bytearray | memoryview)
    if is_list and save and all(_is_step(step) for step in save):
        return [int(step) for step in save]
    raise InputError(f"save={show(save)}: must be {' or '.join(SAVED)}, or a list of steps such as [100, 1000]")


def steps_to_keep(save: Save, config: Config) -> list[int]:
    """The steps of a run after which its weights are to be kept, in order; none for ``save=None``. Raises InputError
    for a step after which they cannot be."""
    if save is None:
        return []
    points = config.checkpoints
    chosen = [points[2**k - 1] for k in range(len(points).bit_length())] if save == "checkpoints" else []
    if isinstance(save, list):
        chosen = [check_step(step, config, f"save={show(save)}") for step in save]
    return sorted({*chosen, config.steps})


def check_step(step: Any, config: Config, given: str) -> int:
    """``step``, a point of the training curve, or of the second one of a run with an extension, or the last step.
    Raises InputError for another; it names what was ``given``."""
    points = config.checkpoints
    if _is_step(step) and (step in points or step == config.steps):
        return int(step)
    some = [*map(str, points[:SHOWN]), *(["..."] if len(points) > SHOWN else [])]
    steps = f"{', '.join(some)} or {config.steps}" if some else str(config.steps)
    raise InputError(f"{given}: must be a point of the training curve of the model that is tested: {steps}")


def weights_name(step: int, config: Config) -> str:
    """The file of the weights after ``step``."""
    return WEIGHTS if step == config.steps else f"weights-{step}.safetensors"


def is_weights(name: str) -> bool:
    """Whether a file of a record holds weights."""
    return NAME.fullmatch(name) is not None


def step_of(name: str, config: Config) -> int:
    """The step after which the weights in a file of a record are; the inverse of ``weights_name``."""
    found = NAME.fullmatch(name)
    assert found is not None  # see ``is_weights``
    return int(found[1]) if found[1] else config.steps


def _is_step(step: Any) -> bool:
    return isinstance(step, Integral) and not isinstance(step, bool)
