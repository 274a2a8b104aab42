"""Early stopping: a model that fits its training lengths is not trained further."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from synthlab.runs.registry import show
from synthlab.runs.run import Run
from synthlab.storage.records import Record
from synthlab.storage.weights import check_step
from synthlab.training.loop import Observer, Training, train_ensemble


def train_until_fit(
    ensemble: nn.Module,
    configs: Sequence[Run],
    objective: Callable[[], Tensor],
    every: int,
    fits: Callable[[int], bool],
    observe: Observer | None = None,
) -> list[Training]:
    """Train initialized models until each fits; return their training curves, each up to where its model stopped.

    Args:
        ensemble: The models.
        configs: The config of each model.
        objective: Returns their losses [E] on the next batch.
        every: Steps between tests, a multiple of ``protocol.record_every``.
        fits: Returns True if the model with this index fits.
        observe: Called at each point of the training curve, as by ``train_ensemble``.
    """
    early = _EarlyStop(ensemble, configs, every, fits, observe)
    protocols = [config.protocol for config in configs]
    trainings = train_ensemble(ensemble.parameters(), objective, protocols, early, early.done)
    early.finish()
    return [early.curve(index, training) for index, training in enumerate(trainings)]


def find_stopped_step(record: Record, step: int | None) -> int | None:
    """Return the step to open a run's model at, for the model after ``step``: None if training had stopped by then.

    None stands for the last step. Raises InputError for a step that the run does not have.
    """
    if step is None or record.diverged_at is not None:
        return step
    checked = check_step(step, record.config, f"step={show(step)}")
    return None if checked > record.training["step"].iloc[-1] else checked


class _EarlyStop:
    """An observer of an ensemble's training that stops models that fit.

    Every ``every`` steps it tests each model with ``fits``. A stopped model is reset to its stopped state at each later
    point of the curve, while the others train on.
    """

    def __init__(
        self,
        ensemble: nn.Module,
        configs: Sequence[Run],
        every: int,
        fits: Callable[[int], bool],
        observe: Observer | None,
    ):
        self.ensemble, self.configs, self.every, self.fits, self.observe = ensemble, configs, every, fits, observe
        self.stopped: dict[int, int] = {}  # the step at which each model stopped
        self._kept: dict[int, list[Tensor]] = {}
        self._diverged: set[int] = set()
        self.step = 0

    def __call__(self, step: int, losses: list[float]) -> None:
        self.step = step
        self._diverged = {index for index, loss in enumerate(losses) if math.isnan(loss)} - self.stopped.keys()
        if step % self.every == 0:
            for index in range(len(self.configs)):
                if index not in self.stopped and index not in self._diverged and self.fits(index):
                    self.stopped[index] = step
                    self._kept[index] = [each.detach()[index].clone() for each in self.ensemble.parameters()]
        self._put_back()
        if self.observe is not None:
            self.observe(step, losses)

    def done(self) -> bool:
        """Return True if all models have stopped."""
        return len(self.stopped) + len(self._diverged) == len(self.configs)

    def finish(self) -> None:
        """Show the observer the models, which no longer change, at the checkpoints that training did not reach."""
        self._put_back()
        if self.observe is not None and self.stopped:
            for step in self.configs[0].checkpoints:
                if step > self.step:
                    self.observe(step, [math.nan] * len(self.configs))

    def curve(self, index: int, training: Training) -> Training:
        """Return the training curve of a model up to the step at which it stopped."""
        if index not in self.stopped:
            return training
        count = bisect_right(training.steps, self.stopped[index])
        return Training(training.steps[:count], training.losses[:count], None)

    @torch.no_grad()
    def _put_back(self) -> None:
        for index, values in self._kept.items():
            for parameter, value in zip(self.ensemble.parameters(), values, strict=True):
                parameter[index] = value
