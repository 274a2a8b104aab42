"""Which runs train together, and in which order."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from synthlab.config.base import Config
from synthlab.models.layers import Member
from synthlab.training.devices import one_thread
from synthlab.training.loop import train

# Numbers of one layer's stream in a step (see ``_size``) that a stack holds: beyond it a core gains nothing more, and
# memory grows. A step costs as much as OVERHEAD numbers before it computes any; a number takes SECONDS on one core of
# the machine that docs/speed.md speaks of, up to a factor of two or so.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD, SECONDS = 2**14, 1.2e-7
TRIED, TRIAL_STEPS = 5, 8  # models and training steps in a trial of whether stacks are exact
_exact: dict[tuple[str, int], bool] = {}  # what trials in this process found, by shape and number of models


def stacks(configs: list[Config], workers: int, device: str = "cpu") -> list[list[Config]]:
    """``configs`` in stacks of one shape, as large as pays, the longest work first; cut smaller where workers would
    be left without one. Whether they compute as each run alone does, ``is_exact`` says, on the machine that trains."""
    shapes: dict[str, list[Config]] = {}
    for config in configs:
        shapes.setdefault(config.shape, []).append(config)
    plan = []
    for members in shapes.values():
        members = sorted(members, key=lambda config: config.protocol.lr)  # the optimizer takes equal rates together
        size = stack_size(members[0], device)
        plan += _parts(members, -(-len(members) // size))
    plan.sort(key=seconds, reverse=True)
    while len(plan) < 4 * workers and len(plan) % workers and len(plan[0]) > 1:
        plan = sorted([*_parts(plan[0], 2), *plan[1:]], key=seconds, reverse=True)
    return plan


def stack_size(config: Config, device: str = "cpu") -> int:
    """How many runs of this shape a stack holds at most."""
    return max(1, CAPACITY[device] // _size(config))


def seconds(configs: list[Config]) -> float:
    """How long one core takes for a stack, about: enough to order stacks by, and to cut a sweep into jobs."""
    first = configs[0]
    numbers = OVERHEAD + len(configs) * _size(first)
    return SECONDS * first.protocol.steps * first.model.get("depth", 1) * numbers


def exact_parts(configs: list[Config], device: str = "cpu") -> list[list[Config]]:
    """A stack as it can be trained here: whole where it is exact, which on a GPU is not asked, else run by run."""
    if len(configs) < 2 or (device == "cpu" and not is_exact(configs)):
        return [[config] for config in configs]
    return [configs]


def is_exact(configs: Sequence[Config]) -> bool:
    """Whether runs of one shape compute in a stack, to the last bit, what each computes alone.

    Libraries do not promise that products of matrices are rounded alike wherever in memory they lie. Measured, they are
    where each model's numbers fill vectors of four, and elsewhere by chance only. So shapes that do not are not exact,
    and of the others each is tried: a few training steps, and a test. What cannot be stacked is not exact either.
    """
    if not _fills_vectors(configs[0]):
        return False
    shape, tried = configs[0].shape, configs[:TRIED]
    if (shape, len(tried)) not in _exact:
        with one_thread():
            try:
                _exact[shape, len(tried)] = _is_repeated_alone(tried)
            except (Exception, SystemExit):  # whatever a class of the user's own may raise; training it says so
                return False
    return _exact[shape, len(tried)]


def _fills_vectors(config: Config) -> bool:
    """Whether each layer's numbers, model after model, begin at multiples of four."""
    model = config.model
    if model["name"] == "linear":
        return config.protocol.batch * config.train_length % 4 == 0
    width = model.get("width", 4)
    return width % 4 == round(model.get("mlp_ratio", 1) * width) % 4 == 0


def _is_repeated_alone(configs: Sequence[Config]) -> bool:
    together = _trial(configs)
    return all(
        torch.equal(found, expected)
        for index, config in enumerate(configs)
        for found, expected in zip(together[index], _trial([config])[0], strict=True)
    )


def _trial(configs: Sequence[Config]) -> list[list[torch.Tensor]]:
    """For each model: its losses in the first steps, its parameters then, and its answers to a few sequences."""
    family = configs[0].family
    stack = family.build_models(configs)
    objective = family.make_objective(stack, configs)
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


def _parts(configs: list[Config], count: int) -> list[list[Config]]:
    """``configs`` in ``count`` parts, or as many as there are, of sizes that differ by one at most."""
    count = min(count, len(configs))
    bounds = [len(configs) * i // count for i in range(count + 1)]
    return [configs[low:high] for low, high in pairwise(bounds)]


def _size(config: Config) -> int:
    """Numbers of a layer's stream in a step, more where layers are many or their hidden layers wide."""
    model, length = config.model, config.train_length
    width = model.get("width", model.get("head_dim", 32)) * max(1, model.get("mlp_ratio", 1) / 4)
    return int(config.protocol.batch * length * (width + length) * max(1, model.get("depth", 1) / 4))
