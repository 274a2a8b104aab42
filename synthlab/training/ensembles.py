"""Ensembles: which runs of one shape train together, and which ensemble is trained first."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from synthlab.runs.run import Run

# Activations of a layer in a step above which larger ensembles gain nothing; on a GPU, at most a third by doubling.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD = 2**14  # the fixed cost of a step, in activations
SECONDS = 1.2e-7  # seconds for one activation on one core of the machine in docs/speed.md, within a factor of about two
BYTES = 4  # of a number
AnyRun = TypeVar("AnyRun", bound=Run)


def plan_ensembles(configs: Sequence[AnyRun], workers: int, device: str = "cpu") -> list[list[AnyRun]]:
    """Group ``configs`` into ensembles of one shape and up to ``ensemble_size`` runs that fit in memory, longest first.

    Ensembles are split further if some workers would have none. The caller checks that they are exact
    (``training.execution.split_inexact``).
    """
    shapes: dict[str, list[AnyRun]] = {}
    for config in configs:
        shapes.setdefault(config.shape, []).append(config)
    plan: list[list[AnyRun]] = []
    for members in shapes.values():
        # The optimizer updates models with equal learning rates together.
        members = sorted(members, key=lambda config: config.protocol.lr)
        plan += _parts(members, -(-len(members) // ensemble_size(members[0], device)))
    plan.sort(key=estimate_seconds, reverse=True)
    while len(plan) < 4 * workers and len(plan) % workers and len(plan[0]) > 1:
        plan = sorted([*_parts(plan[0], 2), *plan[1:]], key=estimate_seconds, reverse=True)
    return plan


def ensemble_size(config: Run, device: str = "cpu") -> int:
    """Return the largest number of runs of this shape in an ensemble.

    It is 1 for a model whose size is unknown, and with an optimizer of the user. On a GPU the models fit in its memory
    while they train, by what is kept for gradients. On a CPU they take far less than there is.
    """
    activations = _activations(config)
    if activations is None or config.protocol.has_user_optimizer:
        return 1
    size = CAPACITY[device] // activations
    if device != "cpu":
        import torch  # not needed to plan for a CPU

        model, length = config.model, config.train_length
        stored = 2 * model.get("width", 1) * (1 + model.get("mlp_ratio", 0))
        stored += 0 if config.has_fused_attention else model.get("heads", 1) * length  # attention logits
        needed = BYTES * config.protocol.batch * length * _depth(model) * stored
        size = min(size, int(torch.cuda.get_device_properties(device).total_memory // needed))
    return max(1, size)


def estimate_seconds(configs: Sequence[Run]) -> float:
    """Return a rough estimate of an ensemble's seconds on one core, to order ensembles and to split sweeps."""
    first = configs[0]
    activations = OVERHEAD + len(configs) * (_activations(first) or OVERHEAD)
    return SECONDS * first.protocol.steps * _depth(first.model) * activations


def _parts(configs: list[AnyRun], count: int) -> list[list[AnyRun]]:
    """Split ``configs`` into ``count`` parts of nearly equal sizes, or fewer if there are fewer configs."""
    count = min(count, len(configs))
    bounds = [len(configs) * i // count for i in range(count + 1)]
    return [configs[low:high] for low, high in pairwise(bounds)]


def _depth(model: Mapping[str, Any]) -> int:
    return model.get("depth", 1) * model.get("loops", 1)


def _activations(config: Run) -> int | None:
    """Return the activations of one layer in a training step, scaled up for deep models and wide MLPs.

    Return None if the model's config has neither a width nor a head dimension, as a user's model may.
    """
    model, length = config.model, config.train_length
    width = model.get("width", model.get("head_dim"))
    if not isinstance(width, int):
        return None
    wide, deep = max(1, model.get("mlp_ratio", 1) / 4), max(1, _depth(model) / 4)
    return int(config.protocol.batch * length * (width * wide + length) * deep)
