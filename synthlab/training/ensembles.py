"""Which runs train together, and in which order."""

from itertools import pairwise

from synthlab.config.base import Config

# Numbers of one layer's stream in a step (see ``_size``) that a stack holds: beyond it a core gains nothing more, and
# memory grows. A step costs as much as OVERHEAD numbers before it computes any; a number takes SECONDS on one core of
# the machine that docs/speed.md speaks of, up to a factor of two or so.
CAPACITY = {"cpu": 2**17, "cuda": 2**24}
OVERHEAD, SECONDS = 2**14, 1.2e-7


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
