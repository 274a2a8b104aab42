"""Early stopping: a model that fits its training lengths is not trained further."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from synthlab.runs.run import Run
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

    A stopped model is reset to its stopped state at each later point of the curve, while the others train on.

    Args:
        ensemble: The models.
        configs: The config of each model.
        objective: Returns their losses [E] on the next batch.
        every: Steps between tests, a multiple of ``protocol.record_every``.
        fits: Returns True if the model with this index fits.
        observe: Called at each point of the training curve, as by ``train_ensemble``.
    """
    training, last = list(range(len(configs))), 0  # the models that neither fit nor diverged; the step reached
    stopped: dict[int, tuple[int, list[Tensor]]] = {}  # the step at which each other model stopped, and its parameters

    def test_and_observe(step: int, losses: list[float]) -> None:
        nonlocal training, last
        training, last = [index for index in training if not math.isnan(losses[index])], step
        if step % every == 0:
            for index in training:
                if fits(index):
                    stopped[index] = step, [each.detach()[index].clone() for each in ensemble.parameters()]
            training = [index for index in training if index not in stopped]
        reset()
        if observe is not None:
            observe(step, losses)

    @torch.no_grad()
    def reset() -> None:
        for index, (_, values) in stopped.items():
            for parameter, value in zip(ensemble.parameters(), values, strict=True):
                parameter[index] = value

    protocols = [config.protocol for config in configs]
    curves = train_ensemble(ensemble.parameters(), objective, protocols, test_and_observe, lambda: not training)
    reset()
    if observe is not None and stopped:
        # The models no longer change: the observer sees them at the checkpoints that training did not reach, too.
        for step in (step for step in configs[0].checkpoints if step > last):
            observe(step, [math.nan] * len(configs))
    for index, (step, _) in stopped.items():
        steps, losses = curves[index].steps, curves[index].losses
        count = bisect_right(steps, step)
        curves[index] = Training(steps[:count], losses[:count], None)
    return curves
