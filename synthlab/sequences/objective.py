"""The training objective: the mean loss of the scored tokens, on examples of random training lengths."""

from collections.abc import Iterator, Sequence
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.models.encodings.base import encoding_of, stack_positions
from synthlab.models.language_model import LanguageModel, takes_shortcuts
from synthlab.positions.samplers import Contiguous
from synthlab.rng import stream
from synthlab.sequences.positions import POSITIONS, OfTask
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import Batch, draw_integers
from synthlab.sequences.tasks import TASKS
from synthlab.training.ensembles import ensemble_size

# Examples are drawn for several steps at once, up to this many tokens: most of the cost of drawing is per call.
STEPS, TOKENS = 32, 2**18


def draw_batches(config: SequencesRun) -> Iterator[Batch]:
    """Yield the training examples of one run, batch after batch.

    All rows are as wide as the longest training example, so that a run computes the same in an ensemble as alone.
    """
    task, size, generator = TASKS.build(config.task), config.protocol.batch, stream(config.data_seed, "training")
    width = task.width(config.train_length)
    lengths = torch.tensor(task.lengths(config.train_from or task.shortest, config.train_length))
    drawn, at_once = 0, max(1, min(STEPS, TOKENS // (size * width)))
    while True:
        # Of the training lengths, from the shortest on, a curriculum allows so many at each step.
        longest = [
            config.curriculum.find_longest(step, config.protocol.steps, config.train_length)
            for step in range(drawn, drawn + at_once)
        ]
        drawn += at_once
        counts = (lengths <= torch.tensor(longest)[:, None]).sum(1)
        chosen = lengths[draw_integers(counts.repeat_interleave(size), generator)]
        batch = task.batch(chosen, width, generator)
        yield from map(Batch._make, zip(*(part.split(size) for part in batch), strict=True))


class AnswerLoss:
    """The losses [E] of an ensemble on the next batch: model e is trained on examples of ``configs[e]``.

    Runs of a shape that always trains alone skip padding (``models.ragged``). Ensembles do not: their models have texts
    of different lengths, and small models gain more by sharing calls.
    """

    def __init__(self, model: nn.Module, configs: Sequence[SequencesRun], device: torch.device | str = "cpu"):
        self.model, self.device, self.task = model, device, TASKS.build(configs[0].task)
        # This depends on the shape of the runs, not on the ensemble: the two ways round differently.
        self.leaves_out_padding = takes_shortcuts(model) and ensemble_size(configs[0], torch.device(device).type) == 1
        self.batches = [draw_batches(config) for config in configs]
        self.samplers = [POSITIONS.build(config.positions) for config in configs]
        self.position_generators = [stream(config.data_seed, "positions") for config in configs]

    @property
    def is_static(self) -> bool:
        """False where padding is left out: the number of tokens then differs between steps."""
        return not self.leaves_out_padding

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return the positions of the next step, None for 0, 1, 2, ..., and the parts of its ``Batch``."""
        batch = Batch(*map(torch.stack, zip(*map(next, self.batches), strict=True)))
        (rows, width), generators = batch.tokens.shape[1:], self.position_generators
        if isinstance(self.samplers[0], Contiguous):
            positions = stack_positions(encoding_of(self.model), batch.sizes, width, generators)
        else:
            positions = torch.stack(
                [
                    sampler.number(self.task, tokens, generator)
                    if isinstance(sampler, OfTask)
                    else sampler.positions(rows, width, generator)
                    for sampler, tokens, generator in zip(self.samplers, batch.tokens, generators, strict=True)
                ]
            )
        return None if positions is None else positions.to(self.device), *(part.to(self.device) for part in batch)

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        positions, *parts = inputs or self.draw()
        batch = Batch(*cast(list[Tensor], parts))
        if self.leaves_out_padding:
            logits = cast(LanguageModel, self.model).without_padding(batch.tokens, positions, batch.sizes)
        else:
            logits = self.model(batch.tokens, positions)
        losses = self.task.losses(logits, batch)
        return (losses * batch.scored).sum((1, 2)) / batch.scored.sum((1, 2))
