"""The training objective: mean squared error over all prefixes, in representation space."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.encodings.base import encoding_of, stack_positions
from synthlab.models.packing import ENDS
from synthlab.numbers.inputs import InputDistribution
from synthlab.numbers.outrep import LearnedOutRep, OutRep
from synthlab.numbers.tasks import NumberTask
from synthlab.rng import stream

# Batches are sampled for up to STEPS steps and SYMBOLS symbols at once, since a call for each step would cost more than
# the sampling. Changing either changes the examples of a seed.
STEPS, SYMBOLS = 64, 2**18


class Examples:
    """The training examples of one run: a new batch in each step.

    Each sequence is an example of every length up to ``train_length``, weighted by the distribution of training lengths
    (paper, appendix A: uniform). Without ``outrep`` targets stay in their own units. Examples with the same ``key``
    have the same task and map, which are the user's if ``is_own``.
    """

    def __init__(
        self,
        task: NumberTask,
        inputs: InputDistribution,
        outrep: OutRep | None,
        batch: int,
        weights: Float[Tensor, " L"],
        seed: int,
        key: str = "",
        is_own: bool = False,
    ):
        self.key, self.is_own = key, is_own
        self.task, self.inputs, self.outrep, self.batch, self.weights = task, inputs, outrep, batch, weights
        self.symbols, self.places = stream(seed, "training"), stream(seed, "positions")

    def steps(self) -> int:
        """Return the number of batches that ``draw`` returns."""
        return max(1, min(STEPS, SYMBOLS // (self.batch * len(self.weights))))

    def draw(self) -> tuple[Int[Tensor, "S B L"], Float[Tensor, "S B L"]]:
        """Return the sequences of the next ``steps()`` batches, and the mapped targets of their prefixes."""
        x = self.draw_symbols()
        return x, self.map_targets(x)

    def draw_symbols(self) -> Int[Tensor, "S B L"]:
        """Return the sequences of the next ``steps()`` batches."""
        steps = self.steps()
        return self.inputs.draw(steps * self.batch, len(self.weights), self.symbols).unflatten(0, (steps, -1))

    def map_targets(self, x: Int[Tensor, "*S L"]) -> Float[Tensor, "*S L"]:
        """Return the mapped targets of the prefixes of sequences."""
        targets = self.task.targets(x.flatten(0, -2))
        if self.outrep is not None:
            targets = self.outrep.forward(targets)
        return targets.to(self.weights.dtype).view(x.shape)

    def lengths(self, weights: Float[Tensor, " L"]) -> Int[Tensor, " B"]:
        """Draw a length for each sequence of a batch, where a sequence is an example of one length only."""
        return 1 + torch.multinomial(weights, self.batch, replacement=True, generator=self.places)


class PrefixRegression:
    """The losses [E] of an ensemble on the next batch: model e is trained on ``examples[e]``.

    If prefixes cannot share a packed row (``Encoding.packs``), a sequence is an example of one length only. A map that
    is learned with the models, ``outrep``, maps the targets in each step.

    Under a curriculum, ``curriculum(step)`` returns the weights [E, L] of all models in each step, from 0 on. Without
    one, the weights are those of the examples.
    """

    def __init__(
        self,
        model: nn.Module,
        examples: Sequence[Examples],
        device: torch.device | str = "cpu",
        outrep: LearnedOutRep | None = None,
        curriculum: Callable[[int], Float[Tensor, "E L"]] | None = None,
    ):
        self.model, self.examples, self.device, self.outrep = model, examples, device, outrep
        self.curriculum, self.step = curriculum, 0
        self._set_weights(torch.stack([each.weights for each in examples]))
        self.batches = self._batches() if torch.device(device).type == "cpu" else self._batches_on_gpu()

    is_static = True

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        x, target, weights, positions = cast(tuple[Tensor, ...], inputs or self.draw())
        output = self.model(x.long(), positions)
        if self.outrep is None:
            return weighted_mse(output, target, weights)
        return weighted_mse(output, self.outrep.forward(target), weights) * self.outrep.loss_scale(target, weights)

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return symbols [E, B, L], targets, weights of the lengths, and positions, of the next step."""
        x, target = next(self.batches)
        if self.curriculum is not None:
            self._set_weights(self.curriculum(self.step))
        self.step += 1
        encoding = encoding_of(self.model)
        positions, weights = None, self._scales
        if not encoding.packs:
            lengths = torch.stack([each.lengths(own) for each, own in zip(self.examples, self.weights, strict=True)])
            places = [each.places for each in self.examples]
            drawn = stack_positions(encoding, lengths + ENDS, x.shape[-1] + ENDS, places)
            positions = cast(Tensor, drawn).to(self.device)
            weights = nn.functional.one_hot(lengths - 1, x.shape[-1]).to(target)
        return x, target, weights, positions

    def _set_weights(self, weights: Float[Tensor, "E L"]) -> None:
        self.weights, self._scales = weights, weights.unsqueeze(1).to(self.device)

    def _batches(self):
        while True:
            samples = [each.draw() for each in self.examples]
            yield from zip(*(torch.stack(parts, 1) for parts in zip(*samples, strict=True)), strict=True)

    def _batches_on_gpu(self):
        """Yield the same batches; symbols travel as bytes, and targets are computed for all models alike at once.

        The targets of a user's own task or map are computed on the CPU, which their code may take for granted.
        """
        alike: dict[str, list[int]] = defaultdict(list)
        for index, each in enumerate(self.examples):
            alike[each.key].append(index)
        while True:
            symbols = torch.stack([each.draw_symbols().byte() for each in self.examples])  # E S B L
            x = symbols.pin_memory().to(self.device, non_blocking=True)
            targets = torch.empty(x.shape, dtype=self.weights.dtype, device=self.device)
            for indices in alike.values():
                first = self.examples[indices[0]]
                of = (symbols if first.is_own else x)[indices]
                targets[indices] = first.map_targets(of.long()).to(self.device)
            yield from zip(x.transpose(0, 1), targets.transpose(0, 1), strict=True)


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
