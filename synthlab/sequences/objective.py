"""The training objective: the mean loss of the scored tokens, on examples of random training lengths."""

from collections.abc import Iterator, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.encodings.base import encoding_of
from synthlab.models.language_model import LanguageModel, takes_shortcuts
from synthlab.positions.samplers import SAMPLERS, Contiguous
from synthlab.rng import stream
from synthlab.sequences.construction import build_problem
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import Batch, integers
from synthlab.training.ensembles import ensemble_size

# Examples are drawn for several steps at once, up to this many tokens: most of the cost of drawing is per call.
STEPS, TOKENS = 32, 2**18


class Examples:
    """The training examples of one run, batch after batch.

    All rows are as wide as the longest training example, so that a run computes the same in an ensemble as alone.
    """

    def __init__(self, config: SequencesRun):
        self.config, self.problem = config, build_problem(config.task)
        self.width = self.problem.width(config.train_length)
        first = config.train_from or self.problem.shortest
        self.lengths = torch.tensor(self.problem.lengths(first, config.train_length))
        self.generator, self.drawn = stream(config.data_seed, "training"), 0
        # The number of steps whose examples are drawn at once.
        self.steps = max(1, min(STEPS, TOKENS // (config.protocol.batch * self.width)))

    def __iter__(self) -> Iterator[Batch]:
        size = self.config.protocol.batch
        while True:
            counts = torch.tensor([self.count_allowed(self.drawn + step) for step in range(self.steps)])
            self.drawn += self.steps
            lengths = self.lengths[integers(counts.repeat_interleave(size), self.generator)]
            batch = self.problem.batch(lengths, self.width, self.generator)
            yield from map(Batch._make, zip(*(part.split(size) for part in batch), strict=True))

    def count_allowed(self, step: int) -> int:
        """Return how many of the training lengths, from the shortest on, the curriculum uses at ``step``."""
        steps, last = self.config.protocol.steps, self.config.train_length
        return int((self.lengths <= self.config.curriculum.find_longest(step, steps, last)).sum())


class AnswerLoss:
    """The losses [E] of an ensemble on the next batch: model e is trained on examples of ``configs[e]``.

    Runs of a shape that always trains alone skip padding (``models.ragged``). Ensembles do not: their models have texts
    of different lengths, and small models gain more by sharing calls.
    """

    def __init__(self, model: nn.Module, configs: Sequence[SequencesRun], device: torch.device | str = "cpu"):
        self.model, self.device = model, device
        self.problem = build_problem(configs[0].task)
        # This depends on the shape of the runs, not on the ensemble: the two ways round differently.
        self.leaves_out_padding = takes_shortcuts(model) and ensemble_size(configs[0], torch.device(device).type) == 1
        self.batches = [iter(Examples(config)) for config in configs]
        self.samplers = [SAMPLERS.build(config.positions) for config in configs]
        self.places = [stream(config.data_seed, "positions") for config in configs]

    @property
    def is_static(self) -> bool:
        """False where padding is left out: the number of tokens then differs between steps."""
        return not self.leaves_out_padding

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return the positions of the next step, and the parts of its ``Batch``."""
        batches = [next(each) for each in self.batches]
        positions = self._positions(batches)
        return positions, *(torch.stack(parts).to(self.device) for parts in zip(*batches, strict=True))

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        positions, *parts = inputs or self.draw()
        batch = Batch(*cast(list[Tensor], parts))
        if self.leaves_out_padding:
            logits = cast(LanguageModel, self.model).without_padding(batch.tokens, positions, batch.sizes)
        else:
            logits = self.model(batch.tokens, positions)
        losses = self.problem.losses(logits, batch)
        return (losses * batch.scored).sum((1, 2)) / batch.scored.sum((1, 2))

    def _positions(self, batches: Sequence[Batch]) -> Int[Tensor, "E B T"] | None:
        """Return the positions of all rows, from the sampler or an encoding that draws them; None for 0, 1, 2, ..."""
        encoding = encoding_of(self.model)
        if encoding.draws_positions:
            pairs = zip(batches, self.places, strict=True)
            drawn = [encoding.positions(each.sizes, each.tokens.shape[1], places) for each, places in pairs]
        elif isinstance(self.samplers[0], Contiguous):
            return None
        else:
            runs = zip(batches, self.samplers, self.places, strict=True)
            drawn = [
                sampler.positions(len(each.tokens), each.tokens.shape[1], places) for each, sampler, places in runs
            ]
        return torch.stack(cast(list[Tensor], drawn)).to(self.device)
