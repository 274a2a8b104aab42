"""Early stop: a model that fits the training lengths is kept as it is then."""

import math
from bisect import bisect_right

import torch
from torch import Tensor, nn

from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.construction import build_problem
from synthlab.sequences.evaluation import Scorer
from synthlab.training.loop import Observer, Training


class EarlyStop:
    """Observes the training of an ensemble. Every ``stop.every`` steps it tests each model on ``stop.sequences``
    examples of training lengths, always the same ones. A model whose exact match is ``stop.exact`` or more has stopped:
    at each later point of the curve it is put back to what it was, while the others train on."""

    def __init__(self, ensemble: nn.Module, configs: list[SequencesConfig], observe: Observer | None):
        self.ensemble, self.configs, self.observe = ensemble, configs, observe
        self.stopped: dict[int, int] = {}  # the step at which each model did
        self._kept: dict[int, list[Tensor]] = {}
        self._diverged: set[int] = set()
        self.step = 0

    def __call__(self, step: int, losses: list[float]) -> None:
        self.step = step
        self._diverged = {index for index, loss in enumerate(losses) if math.isnan(loss)} - self.stopped.keys()
        if step % self.configs[0].stop.every == 0:
            for index in range(len(self.configs)):
                if index not in self.stopped and index not in self._diverged and self._fits(index):
                    self.stopped[index] = step
                    self._kept[index] = [each.detach()[index].clone() for each in self.ensemble.parameters()]
        self._put_back()
        if self.observe is not None:
            self.observe(step, losses)

    def done(self) -> bool:
        """Whether no model trains any more."""
        return len(self.stopped) + len(self._diverged) == len(self.configs)

    def finish(self) -> None:
        """Show the observer the models, which no longer change, at the checkpoints that training did not reach."""
        self._put_back()
        if self.observe is not None and self.stopped:
            for step in self.configs[0].checkpoints:
                if step > self.step:
                    self.observe(step, [math.nan] * len(self.configs))

    def curve(self, index: int, training: Training) -> Training:
        """The training curve of a model up to the step at which it stopped, the last of the curve."""
        if index not in self.stopped:
            return training
        count = bisect_right(training.steps, self.stopped[index])
        return Training(training.steps[:count], training.losses[:count], None)

    def _fits(self, index: int) -> bool:
        config, generator = self.configs[index], stream(self.configs[index].data_seed, "calibration")
        problem = build_problem(config.task)
        lengths = torch.tensor(problem.lengths(config.train_from or problem.shortest, config.train_length))
        drawn = lengths[torch.randint(len(lengths), (config.stop.sequences,), generator=generator)]
        scorer = Scorer(Member(self.ensemble, index), encoding_of(self.ensemble), problem, generator)
        needed = config.stop.exact
        return needed is not None and scorer.scores(drawn, generator).exact.mean().item() >= needed

    @torch.no_grad()
    def _put_back(self) -> None:
        for index, values in self._kept.items():
            for parameter, value in zip(self.ensemble.parameters(), values, strict=True):
                parameter[index] = value
