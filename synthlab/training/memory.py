"""What a run takes of the memory at least, and what there is: what cannot fit is refused before it is tried."""

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch

from synthlab.config.base import Config
from synthlab.errors import InputError, in_bytes

NUMBER = 4  # bytes of one
COPIES = 4  # of the weights: themselves, their gradients, and Adam's two moments
DATA = 16  # bytes that a symbol takes as it is drawn: itself, its random number, its target
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container or a job


class Need(NamedTuple):
    """Bytes that a run takes at least: its weights, training without them, testing without them."""

    weights: int
    training: int
    testing: int


def check_trainable(configs: Iterable[Config], device: str = "cpu") -> None:
    """Raises InputError, with a line for each problem, for runs that the memory of ``device`` cannot hold."""
    there = available(device)
    lines = {line: None for config in configs if (line := excess(config, there))}
    if lines:
        raise InputError(*lines)


def check_buildable(config: Config) -> None:
    """Raises InputError for a model whose bare weights this machine's memory cannot hold."""
    there = available()
    if need(config).weights > there:
        raise InputError(_line(_weights(config), need(config).weights, there))


def excess(config: Config, there: float) -> str | None:
    """What to say of a run that takes more than the bytes that are ``there``; None for one that may fit."""
    weights, training, testing = need(config)
    trained = COPIES * weights + training
    if max(trained, weights + testing) <= there:
        return None
    if trained < weights + testing:
        sequences = config.symbols_tested // config.test_length
        fields = f"evaluation.sequences={sequences} test_length={config.test_length}"
    elif COPIES * weights > training:
        fields = _weights(config)
    else:
        fields = f"protocol.batch={config.protocol.batch} train_length={config.train_length}"
    return _line(fields, max(trained, weights + testing), there)


def need(config: Config) -> Need:
    """What a run of one of the lab's own models takes, reckoned low: what a layer at least keeps for its gradients; of
    a model of the user's own, its examples alone."""
    symbols, length = config.protocol.batch * config.train_length, config.train_length
    tested = config.symbols_tested
    model = config.model
    if ":" in model["name"]:
        return Need(0, DATA * symbols, DATA * tested)
    width, depth, heads = (model.get(key, least) for key, least in (("width", 0), ("depth", 1), ("heads", 1)))
    hidden = round(model.get("mlp_ratio", 0) * width)
    weights = depth * 2 * width * (2 * width + hidden) + config.encoding.get("table", 0) * width
    kept = symbols * depth * (2 * (width + hidden) + heads * length)
    attended = 2 * heads * config.test_length**2 if tested else 0  # logits and weights of a sequence
    return Need(NUMBER * weights, NUMBER * kept + DATA * symbols, NUMBER * attended + DATA * tested)


def available(device: str = "cpu") -> float:
    """The bytes of memory that a process can have at most: of a GPU, or of this machine, its container, its shell."""
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


def _line(fields: str, needed: int, there: float) -> str:
    return f"{fields}: takes {in_bytes(needed)} of memory or more; must take less than the {in_bytes(there)} there are"
