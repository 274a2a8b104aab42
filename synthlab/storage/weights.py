"""Which weights of a run are saved, and their files: one for the models of a group, in the format of safetensors.

``save`` decides the steps. ``weights``: the last one. ``checkpoints``: also the first, second, fourth, eighth, ...
point of the training curve, so the distance between checkpoints doubles and most are early in training. A list of
steps: also these. Checkpoints are points of the training curve, so each has a loss.

The file of one model has its parameters by name, each with a leading dimension of size 1. The file of a group has them
as ``STEP/NAME``, with a leading dimension of models; tensors that are the same for all models are there once.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, BinaryIO, NamedTuple

from synthlab.config.base import Config
from synthlab.config.registry import describe_unknown, show
from synthlab.errors import InputError

SAVED = ("weights", "checkpoints")
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


def _is_step(step: Any) -> bool:
    return isinstance(step, Integral) and not isinstance(step, bool)


class Values(NamedTuple):
    """The values of a tensor: its type and shape, as safetensors writes them, and its bytes."""

    dtype: str
    shape: list[int]
    data: bytes


def read_weights(file: bytes) -> dict[str, Values]:
    """Return the tensors of a file of safetensors, by name."""
    start = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:start])
    header.pop("__metadata__", None)
    places = {name: (each["dtype"], each["shape"], *each["data_offsets"]) for name, each in header.items()}
    return {name: Values(kind, shape, file[start + a : start + b]) for name, (kind, shape, a, b) in places.items()}


def write_weights(tensors: Mapping[str, Values], about: Mapping[str, str] | None = None) -> bytes:
    """Return a file of safetensors; ``about`` is its metadata. Types of more bits are first, so all are aligned."""
    order = sorted(tensors.items(), key=lambda item: (-_bits(item[1].dtype), item[0]))
    header: dict[str, Any] = {"__metadata__": dict(about)} if about else {}
    end = 0
    for name, values in order:
        header[name] = {"dtype": values.dtype, "shape": values.shape, "data_offsets": [end, end + len(values.data)]}
        end += len(values.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(values.data for _, values in order)])


def layout(files: Mapping[int, Mapping[str, Values]]) -> str:
    """Return what the models of one file have in common: steps, names, types, shapes, and the values of buffers."""
    parts = [
        (step, name, each.dtype, each.shape, None if each.shape[:1] == [1] else hash_weights(each.data))
        for step, tensors in files.items()
        for name, each in sorted(tensors.items())
    ]
    return json.dumps(parts)


def stack_weights(models: Sequence[Mapping[int, Mapping[str, Values]]]) -> bytes:
    """Return one file of the weights of several models of one ``layout``, given by step."""
    stacked: dict[str, Values] = {}
    shared: list[str] = []
    for step, tensors in models[0].items():
        for name, each in tensors.items():
            if each.shape[:1] == [1]:
                data = b"".join(model[step][name].data for model in models)
                each = Values(each.dtype, [len(models), *each.shape[1:]], data)
            else:
                shared.append(f"{step}/{name}")
            stacked[f"{step}/{name}"] = each
    return write_weights(stacked, {"models": str(len(models)), "shared": json.dumps(shared)})


def read_slice(file: BinaryIO, step: int, index: int) -> bytes:
    """Return the file of the model ``index`` after ``step``, from an open file of a group; read only that."""
    size = int.from_bytes(file.read(8), "little")
    if size > file.seek(0, 2):
        raise ValueError("its header is cut off")
    file.seek(8)
    header = json.loads(file.read(size))
    about, found = header.pop("__metadata__"), {}
    shared, models = json.loads(about["shared"]), int(about["models"])
    for key, each in header.items():
        prefix, _, name = key.partition("/")
        if prefix == str(step):
            begin, end = each["data_offsets"]
            part = end - begin if key in shared else (end - begin) // models
            file.seek(8 + size + begin + (0 if key in shared else index * part))
            shape = each["shape"] if key in shared else [1, *each["shape"][1:]]
            found[name] = Values(each["dtype"], shape, file.read(part))
    return write_weights(found)


def hash_weights(data: bytes) -> str:
    """Return the checksum of the file of one model."""
    return hashlib.sha256(data).hexdigest()[:32]


def _bits(dtype: str) -> int:
    found = re.search(r"\d+", dtype)
    return int(found[0]) if found else 8
