"""Which weights of a run are saved, and their files: one for the models of a group, in the format of safetensors.

``save`` decides the steps. ``weights``: the last one. ``checkpoints``: also the first, second, fourth, eighth, ...
point of the training curve, so the distance between checkpoints doubles and most are early in training. A list of
steps: also these. Checkpoints are points of the training curve, so each has a loss.

The weights of one model are tensors by name, each with a leading dimension of size 1. The file of a group has them as
``STEP/NAME``, with a leading dimension of models.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from synthlab.errors import InputError
from synthlab.runs.registry import describe_unknown, show
from synthlab.runs.run import Run

if TYPE_CHECKING:
    from torch import Tensor

SAVE_MODES = ("weights", "checkpoints")
MAX_SHOWN = 3  # the most steps that a message names
Save = str | tuple[int, ...] | None


def check_save(save: Any) -> Save:
    """Return ``save``, with steps as a tuple. Raises InputError for an invalid one."""
    if save is None or (isinstance(save, str) and save in SAVE_MODES):
        return save
    if isinstance(save, str):
        raise InputError(f"{describe_unknown('save', save, SAVE_MODES)}, or give a list of steps")
    if isinstance(save, Sequence) and save and all(_is_step(step) for step in save):
        return tuple(int(step) for step in save)
    raise InputError(f"save={show(save)}: must be {' or '.join(SAVE_MODES)}, or a list of steps such as [100, 1000]")


def find_saved_steps(save: Save, config: Run) -> list[int]:
    """Return the steps of a run after which its weights are saved, in order; none for ``save=None``.

    Raises InputError for a step after which they cannot be saved.
    """
    if save is None:
        return []
    points = config.checkpoints
    chosen = [points[2**k - 1] for k in range(len(points).bit_length())] if save == "checkpoints" else []
    if isinstance(save, tuple):
        chosen = [check_step(step, config, f"save={show([*save])}") for step in save]
    return sorted({*chosen, config.steps})


def check_step(step: Any, config: Run, given: str) -> int:
    """Return ``step`` if it is the last step or a point of the training curve.

    With an extension, that is the curve of the second training. Raises InputError for another step; it names ``given``.
    """
    points = config.checkpoints
    if _is_step(step) and (step in points or step == config.steps):
        return int(step)
    some = [*map(str, points[:MAX_SHOWN]), *(["..."] if len(points) > MAX_SHOWN else [])]
    steps = f"{', '.join(some)} or {config.steps}" if some else str(config.steps)
    raise InputError(f"{given}: must be a step of the training curve of the tested model: {steps}")


def _is_step(step: Any) -> bool:
    return isinstance(step, Integral) and not isinstance(step, bool)


def encode_weights(models: Sequence[Mapping[int, Mapping[str, "Tensor"]]]) -> bytes:
    """Return one file of the weights of several models of one shape, each given as its weights after some steps."""
    import torch
    from safetensors.torch import save

    names = [(step, name) for step, weights in models[0].items() for name in weights]
    return save({f"{step}/{name}": torch.cat([each[step][name] for each in models]) for step, name in names})


def read_slice(path: str, step: int, index: int) -> dict[str, "Tensor"]:
    """Return the weights of the model ``index`` after ``step``, from the file of a group; read only these."""
    from safetensors import safe_open

    with safe_open(path, "pt") as group:
        names = [name for name in group.keys() if name.startswith(f"{step}/")]  # noqa: SIM118 - it is no mapping
        return {name.partition("/")[2]: group.get_slice(name)[index : index + 1] for name in names}
