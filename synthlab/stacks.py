"""Which runs train together, and in which order."""

from itertools import pairwise

import torch
from torch import nn

from synthlab.assembly import build_models, data
from synthlab.config import RunConfig
from synthlab.layers import Member
from synthlab.objective import Examples, PrefixRegression, length_weights
from synthlab.training import train
from synthlab.workers import one_thread

# Numbers of one layer's stream in a step (see ``_size``) that a stack holds: beyond it a core gains nothing more, and
# memory grows. A step costs as much as OVERHEAD numbers before it computes any.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD = 2**14
TRIED, TRIAL_STEPS = 5, 8  # models and training steps in a trial of whether stacks are exact


def stacks(configs: list[RunConfig], workers: int, device: str = "cpu") -> list[list[RunConfig]]:
    """``configs`` in stacks of one shape, as large as pays, the longest work first; cut smaller where workers would
    be left without one. Raises InputError for models that cannot be stacked."""
    shapes: dict[str, list[RunConfig]] = {}
    for config in configs:
        shapes.setdefault(config.shape, []).append(config)
    plan = []
    for members in shapes.values():
        members = sorted(members, key=lambda config: config.protocol.lr)  # the optimizer takes equal rates together
        size = stack_size(members[0], device)
        if size > 1 and len(members) > 1 and device == "cpu" and not is_exact(members[:TRIED]):
            size = 1
        plan += _parts(members, -(-len(members) // size))
    plan.sort(key=_cost, reverse=True)
    while len(plan) < 4 * workers and len(plan) % workers and len(plan[0]) > 1:
        plan = sorted([*_parts(plan[0], 2), *plan[1:]], key=_cost, reverse=True)
    return plan


def stack_size(config: RunConfig, device: str = "cpu") -> int:
    """How many runs of this shape a stack holds at most."""
    return max(1, CAPACITY[device] // _size(config))


def is_exact(configs: list[RunConfig]) -> bool:
    """Whether runs of one shape compute in a stack, to the last bit, what each computes alone.

    Libraries do not promise that products of matrices are rounded alike wherever in memory they lie. Measured, they are
    where each model's numbers fill vectors of four, and elsewhere by chance only. So shapes that do not are not exact,
    and of the others each is tried: a few training steps, and a test. What cannot be stacked is not exact either.
    """
    if not _fills_vectors(configs[0]):
        return False
    with one_thread():
        try:
            together = _trial(configs)
            return all(
                torch.equal(found, expected)
                for index, config in enumerate(configs)
                for found, expected in zip(together[index], _trial([config])[0], strict=True)
            )
        except RuntimeError:
            return False


def objective_of(stack: nn.Module, configs: list[RunConfig], device: str = "cpu") -> PrefixRegression:
    """What the models of ``stack`` minimize as ``configs`` say."""
    examples = [
        Examples(
            *data(config),
            batch=config.protocol.batch,
            weights=length_weights(config.length_distribution, config.train_length),
            seed=config.seed,
        )
        for config in configs
    ]
    return PrefixRegression(stack, examples, device)


def _fills_vectors(config: RunConfig) -> bool:
    """Whether each layer's numbers, model after model, begin at multiples of four."""
    model = config.model
    if model["name"] == "linear":
        return config.protocol.batch * config.train_length % 4 == 0
    width = model.get("width", 4)
    return width % 4 == round(model.get("mlp_ratio", 1) * width) % 4 == 0


def _trial(configs: list[RunConfig]) -> list[list[torch.Tensor]]:
    """For each model: its losses in the first steps, its parameters then, and its answers to a few sequences."""
    stack = build_models(configs)
    objective = objective_of(stack, configs)
    protocols = [config.protocol.model_copy(update={"steps": TRIAL_STEPS, "record_every": 1}) for config in configs]
    trainings = train(stack.parameters(), objective, protocols)
    x = torch.arange(3)[:, None].bitwise_right_shift(torch.arange(configs[0].train_length) % 2) % 2
    with torch.no_grad():
        answers = [
            torch.zeros(0) if stack.encoding.draws_positions else Member(stack, i)(x) for i in range(len(configs))
        ]
    return [
        [torch.tensor(trainings[index].losses), answers[index], *(each[index] for each in stack.parameters())]
        for index in range(len(configs))
    ]


def _parts(configs: list[RunConfig], count: int) -> list[list[RunConfig]]:
    """``configs`` in ``count`` parts, or as many as there are, of sizes that differ by one at most."""
    count = min(count, len(configs))
    bounds = [len(configs) * i // count for i in range(count + 1)]
    return [configs[low:high] for low, high in pairwise(bounds)]


def _size(config: RunConfig) -> int:
    """Numbers of a layer's stream in a step, more where layers are many or their hidden layers wide."""
    model, length = config.model, config.train_length
    width = model.get("width", model.get("head_dim", 32)) * max(1, model.get("mlp_ratio", 1) / 4)
    return int(config.protocol.batch * length * (width + length) * max(1, model.get("depth", 1) / 4))


def _cost(configs: list[RunConfig]) -> int:
    """How long a stack takes, up to a factor: enough to order stacks by."""
    first = configs[0]
    return first.protocol.steps * first.model.get("depth", 1) * (OVERHEAD + len(configs) * _size(first))
