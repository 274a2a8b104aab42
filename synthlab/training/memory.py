"""Lower bounds on a run's memory, and the available memory, to refuse runs that exceed it before they start."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch

from synthlab.config.base import Config
from synthlab.errors import InputError, to_gib

NUMBER = 4  # bytes of a float
COPIES = 4  # weights, gradients, and Adam's two moments
DATA = 16  # bytes for each symbol of a batch: the symbol, its random number, its target
# Memory limits of a container or job.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Need(NamedTuple):
    """Lower bounds in bytes: of the weights, and of what training and testing need in addition."""

    weights: int
    training: int
    testing: int


def check_trainable(configs: Iterable[Config], device: str = "cpu") -> None:
    """Raise InputError, with a line for each problem, for runs that exceed the memory of ``device``."""
    limit = find_available(device)
    lines = [line for config in configs if (line := excess(config, limit))]
    if lines:
        raise InputError(*dict.fromkeys(lines))


def check_buildable(config: Config) -> None:
    """Raise InputError for a model whose weights alone exceed this machine's memory."""
    weights, limit = need(config).weights, find_available()
    if weights > limit:
        raise InputError(_line(_weights(config), weights, limit))


def excess(config: Config, limit: float) -> str | None:
    """Return the error line for a run that needs more than ``limit`` bytes; None for one that may fit."""
    weights, training, testing = need(config)
    trained = COPIES * weights + training
    if max(trained, weights + testing) <= limit:
        return None
    if trained < weights + testing:
        fields = f"test_length={config.test_length}"
    elif COPIES * weights > training:
        fields = _weights(config)
    else:
        fields = f"protocol.batch={config.protocol.batch} train_length={config.train_length}"
    return _line(fields, max(trained, weights + testing), limit)


def check_answerable(config: Config, length: int, kept: int = 0) -> None:
    """Raise InputError for sequences of ``length`` symbols whose attention exceeds this machine's memory.

    That is the attention of one layer and sequence; or with ``kept``, of that many layers and sequences at once, whose
    matrices are all kept.
    """
    layers, limit = kept or 1, find_available()
    needed = layers * count_attention_bytes(config, length, config.fuses and not kept)
    if needed > limit:
        raise InputError(_line(f"sequences: {layers} x {length:,} symbols", needed, limit))


def count_attention_bytes(config: Config, length: int, fused: bool) -> int:
    """Return the bytes of a sequence's attention logits and weights in a layer; 0 for a user's model.

    For ``fused`` attention these are the bytes of its mask.
    """
    heads = 0 if ":" in config.model["name"] else config.model.get("heads", 1)
    return NUMBER * length**2 * (min(1, heads) if fused else 2 * heads)


def need(config: Config) -> Need:
    """Return lower bounds on the memory of a run.

    For the lab's models they follow from the activations kept for gradients and from attention over the longest test
    sequence, for a user's model from its examples.
    """
    symbols, model = config.protocol.batch * config.train_length, config.model
    if ":" in model["name"]:
        return Need(0, DATA * symbols, 0)
    width, depth, heads = (model.get(key, least) for key, least in (("width", 0), ("depth", 1), ("heads", 1)))
    hidden = round(model.get("mlp_ratio", 0) * width)
    weights = depth * 2 * width * (2 * width + hidden) + config.encoding.get("table", 0) * width
    kept = symbols * depth * (2 * (width + hidden) + (0 if config.fuses else heads * config.train_length))
    tested = count_attention_bytes(config, config.test_length, config.fuses)
    return Need(NUMBER * weights, NUMBER * kept + DATA * symbols, tested)


def find_available(device: str = "cpu") -> float:
    """Return the memory limit of a process in bytes: that of the GPU, or the least of machine, container and shell."""
    if device != "cpu":
        return float(torch.cuda.get_device_properties(device).total_memory)
    limits = []
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in LIMITS:
        with suppress(OSError, ValueError):
            limits.append(int(Path(path).read_text()))
    with suppress(ImportError):
        import resource

        limits.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return float(min((limit for limit in limits if limit > 0), default=math.inf))


def _weights(config: Config) -> str:
    table = f" encoding.table={config.encoding['table']}" if "table" in config.encoding else ""
    return f"model.width={config.model['width']} model.depth={config.model['depth']}{table}"


def _line(fields: str, needed: int, limit: float) -> str:
    return f"{fields}: takes {to_gib(needed)} of memory or more; must take less than the {to_gib(limit)} there are"
