"""The training objective: mean squared error over all prefixes, in representation space."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.models.encodings.base import encoding_of, stack_positions
from synthlab.models.packing import ENDS
from synthlab.numbers.outrep import Chosen, LearnedOutRep, map_of
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import INPUTS, TASKS
from synthlab.rng import gather, stream
from synthlab.runs.sources import is_user_class

# Batches are sampled for up to STEPS steps and SYMBOLS symbols at once, since a call for each step would cost more than
# the sampling. Changing either changes the examples of a seed.
STEPS, SYMBOLS = 64, 2**18


class PrefixRegression:
    """The losses [E] of an ensemble on the next batch: model e is trained on the task of ``configs[e]``.

    Each sequence is an example of every length up to ``train_length``, weighted by the distribution of training lengths
    (paper, appendix A: uniform). If prefixes cannot share a packed row (``Encoding.packs``), it is an example of one
    length only. A map that is learned with the models maps the targets in each step.
    """

    is_static = True

    def __init__(self, model: nn.Module, configs: Sequence[NumbersRun], device: torch.device | str = "cpu"):
        self.model, self.configs, self.device, self.step = model, configs, device, 0
        outrep = getattr(model, "outrep", None)
        self.learned = outrep if isinstance(outrep, LearnedOutRep) else None
        self.inputs = [INPUTS.build(config.inputs) for config in configs]
        self.symbol_generators, self.position_generators = (
            [stream(config.data_seed, name) for config in configs] for name in ("training", "positions")
        )
        self._use_lengths(configs[0].train_length)
        self.batches = self._draw_batches()

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        x, target, weights, positions = cast(tuple[Tensor, ...], inputs or self.draw())
        output = self.model(x.long(), positions)
        if self.learned is None:
            return weighted_mse(output, target, weights)
        return weighted_mse(output, self.learned.forward(target), weights) * self.learned.loss_scale(target, weights)

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return symbols [E, B, L], targets, weights of the lengths, and positions, of the next step."""
        x, target = next(self.batches)
        first, encoding, generators = self.configs[0], encoding_of(self.model), self.position_generators
        if first.curriculum is not None:
            longest = first.curriculum.find_longest(self.step, first.protocol.steps, first.train_length)
            if longest != self.longest:
                self._use_lengths(longest)
        self.step += 1
        if encoding.packs:
            return x, target, self.scales, None
        lengths = 1 + torch.stack(
            [
                torch.multinomial(weights, x.shape[1], replacement=True, generator=generator)
                for weights, generator in zip(self.weights, generators, strict=True)
            ]
        )
        positions = cast(Tensor, stack_positions(encoding, lengths + ENDS, x.shape[-1] + ENDS, generators))
        weights = nn.functional.one_hot(lengths - 1, x.shape[-1]).to(target)
        return x, target, weights, positions.to(self.device)

    def _use_lengths(self, longest: int) -> None:
        """Train on lengths up to ``longest``."""
        weights = [length_weights(each.length_distribution, each.train_length, longest) for each in self.configs]
        self.longest, self.weights = longest, torch.stack(weights)
        self.scales = self.weights.unsqueeze(1).to(self.device)

    def _draw_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the symbols [E, B, L] of each step and the mapped targets of their prefixes.

        Symbols on a GPU are bytes. The targets of a user's own task or map are computed on the CPU, which their code
        may take for granted.
        """
        on_cpu, first = torch.device(self.device).type == "cpu", self.configs[0]
        batch, length = first.protocol.batch, first.train_length
        steps = max(1, min(STEPS, SYMBOLS // (batch * length)))
        same: dict[str, list[int]] = defaultdict(list)  # models that have the same targets, which are computed at once
        for index, config in enumerate(self.configs):
            of_model = index if isinstance(getattr(self.model, "outrep", None), Chosen) else None
            same[json.dumps([config.task, config.outrep, of_model], sort_keys=True)].append(index)
        groups = []
        for indices in same.values():
            config = self.configs[indices[0]]
            outrep = None if self.learned is not None else map_of(self.model, indices[0], config)
            of_user = is_user_class(config.task["name"]) or is_user_class(config.outrep["name"])
            groups.append((indices, TASKS.build(config.task), outrep, of_user))
        alike = not is_user_class(first.inputs["name"]) and all(
            config.inputs == first.inputs for config in self.configs
        )
        together = gather(self.symbol_generators, self.device) if alike else None
        while True:
            if together is not None:
                x = self.inputs[0].draw(steps * batch, length, together).byte()
            else:
                pairs = zip(self.inputs, self.symbol_generators, strict=True)
                x = torch.stack([inputs.draw(steps * batch, length, generator) for inputs, generator in pairs])
                x = x if on_cpu else x.byte().pin_memory().to(self.device, non_blocking=True)
            targets = torch.empty(x.shape, dtype=self.weights.dtype, device=self.device)
            for indices, task, outrep, of_user in groups:
                drawn = x[indices].long()
                drawn = drawn.cpu() if of_user else drawn
                values = task.targets(drawn.flatten(0, 1))
                values = values if outrep is None else outrep.forward(values)
                targets[indices] = values.view(drawn.shape).to(targets)
            steps_of = (each.unflatten(1, (steps, batch)).transpose(0, 1) for each in (x, targets))  # S E B L
            yield from zip(*steps_of, strict=True)


def weighted_mse(
    output: Float[Tensor, "E B L"], target: Float[Tensor, "E B L"], weights: Float[Tensor, "E #B L"]
) -> Float[Tensor, " E"]:
    """Return each model's squared error, weighted over lengths and averaged over the batch.

    Raises ValueError for unequal shapes, which would otherwise broadcast.
    """
    if output.shape != target.shape:
        raise ValueError(f"output has shape {tuple(output.shape)}, target {tuple(target.shape)}: must be equal")
    return ((output - target).square() * weights).sum((1, 2)) / output.shape[1]


def length_weights(distribution: str, train_length: int, longest: int | None = None) -> Float[Tensor, " L"]:
    """Return the probability of each training length 1..train_length under a ``length_distribution`` of the config.

    In a step of a curriculum, lengths go up to ``longest``, and longer ones have probability 0.
    """
    lengths = torch.arange(1, train_length + 1, dtype=torch.get_default_dtype())
    last = train_length if longest is None else longest
    weights = {
        "uniform": torch.ones_like(lengths),
        "proportional": lengths,
        "longest": (lengths == last).to(lengths.dtype),
    }[distribution] * (lengths <= last)
    return weights / weights.sum()
