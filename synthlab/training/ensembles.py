"""Ensembles: which runs of one shape train together, and which ensemble is trained first."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from synthlab.config.base import Config

# How many activations of a layer an ensemble computes in a step at most (see ``_activations``): beyond it a core gains
# nothing more, and memory grows. A step costs as much as OVERHEAD activations before it computes any; one takes SECONDS
# on one core of the machine that docs/speed.md speaks of, up to a factor of two or so.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD, SECONDS = 2**14, 1.2e-7
Run = TypeVar("Run", bound=Config)


def plan_ensembles(configs: Sequence[Run], workers: int, device: str = "cpu") -> list[list[Run]]:
    """``configs`` in ensembles of one shape, as large as pays, the longest work first; cut smaller where workers would
    be left without one. Whoever trains them checks that they are exact (``training.exactness``)."""
    shapes: dict[str, list[Run]] = {}
    for config in configs:
        shapes.setdefault(config.shape, []).append(config)
    plan: list[list[Run]] = []
    for members in shapes.values():
        members = sorted(members, key=lambda config: config.protocol.lr)  # the optimizer takes equal rates together
        size = ensemble_size(members[0], device)
        plan += _parts(members, -(-len(members) // size))
    plan.sort(key=seconds, reverse=True)
    while len(plan) < 4 * workers and len(plan) % workers and len(plan[0]) > 1:
        plan = sorted([*_parts(plan[0], 2), *plan[1:]], key=seconds, reverse=True)
    return plan


def ensemble_size(config: Config, device: str = "cpu") -> int:
    """How many runs of this shape an ensemble holds at most: one of a model whose size is not known."""
    activations = _activations(config)
    return 1 if activations is None else max(1, CAPACITY[device] // activations)


def seconds(configs: Sequence[Config]) -> float:
    """How long one core takes for an ensemble, about: enough to order ensembles by, and to cut a sweep into jobs."""
    first = configs[0]
    activations = OVERHEAD + len(configs) * (_activations(first) or OVERHEAD)
    return SECONDS * first.protocol.steps * first.model.get("depth", 1) * activations


def _parts(configs: list[Run], count: int) -> list[list[Run]]:
    """``configs`` in ``count`` parts, or as many as there are, of sizes that differ by one at most."""
    count = min(count, len(configs))
    bounds = [len(configs) * i // count for i in range(count + 1)]
    return [configs[low:high] for low, high in pairwise(bounds)]


def _activations(config: Config) -> int | None:
    """Activations of one layer in a step, more where layers are many or their hidden layers wide; None for a model that
    says neither its width nor its head dimension, such as one of a user's own."""
    model, length = config.model, config.train_length
    width = model.get("width", model.get("head_dim"))
    if not isinstance(width, int):
        return None
    wide, deep = max(1, model.get("mlp_ratio", 1) / 4), max(1, model.get("depth", 1) / 4)
    return int(config.protocol.batch * length * (width * wide + length) * deep)
