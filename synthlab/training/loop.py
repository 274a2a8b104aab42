"""The training loop of all families.

It minimizes the losses of an objective, and is independent of models and tasks.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn

from synthlab.runs.run import Protocol
from synthlab.training.graphs import Replayable, replay
from synthlab.training.optimizers import OwnOptimizer, RowOptimizer, clip_gradients, move_to_rows

Observer = Callable[[int, list[float]], None]


class Training(NamedTuple):
    """A training curve: ``losses[i]`` is the mean loss over the steps after ``steps[i - 1]``, up to ``steps[i]``.

    ``diverged_at`` is the first step with a loss that is not finite; the curve ends before it. It is the last step if
    only the final parameters are not finite, and None if training did not diverge. ``learned`` has the
    parameters of a learned target map at the same steps, by name.
    """

    steps: list[int]
    losses: list[float]
    diverged_at: int | None
    learned: Mapping[str, list[float]] = {}


def train_ensemble(
    parameters: Iterable[nn.Parameter],
    objective: Callable[..., Tensor],
    protocols: Sequence[Protocol],
    observe: Observer | None = None,
    done: Callable[[], bool] | None = None,
) -> list[Training]:
    """Minimize the losses of an ensemble, one for each model, with the optimizer and steps of ``protocols``.

    Args:
        parameters: The parameters of all models. Each has a leading dimension of models (any shape for a single model).
        objective: Returns the losses [E] on the next batch. On a GPU, the steps of one that is ``Replayable`` are
            captured in a graph and replayed.
        protocols: The training settings of each model, which may differ in name and learning rate only.
        observe: Called with the step and the losses at each point of the training curve. Losses are read only there,
            since reading them waits for the device.
        done: Called after each ``observe``; training ends early if it returns True.
    """
    protocol, parameters = protocols[0], [parameter for parameter in parameters if parameter.requires_grad]
    rows = move_to_rows(parameters, len(protocols))
    if not protocol.has_user_optimizer:
        optimizer = RowOptimizer(rows, protocols)
    elif len(protocols) == 1:
        optimizer = OwnOptimizer(parameters, rows, protocol)
    else:
        raise ValueError(f"{protocol.optimizer} trains one model at a time, not {len(protocols)}")

    def update(losses: Tensor) -> Tensor:
        for parameter in parameters:
            parameter.grad = None
        losses.sum().backward()
        _copy_gradients(parameters, rows.views)
        if protocol.clip is not None:
            clip_gradients(rows.gradients, protocol.clip)
        optimizer.update()
        return losses.detach()

    curves = [Training([], [], None) for _ in protocols]
    pending: list[Tensor] = []
    step = 0
    if rows.values.is_cuda and not protocol.has_user_optimizer and isinstance(objective, Replayable):
        trainer = replay(objective, update, work=rows.values.numel() * protocol.steps)
    else:
        trainer = nullcontext(lambda: update(objective()))
    with trainer as train_step:
        for step in range(1, protocol.steps + 1):
            optimizer.set_rate(step)
            pending.append(train_step())
            if step % protocol.record_every and step < protocol.steps:
                continue
            columns = torch.stack(pending).reshape(len(pending), -1).T.tolist()
            curves = [
                curve if curve.diverged_at is not None else _extend(curve, step, recent)
                for curve, recent in zip(curves, columns, strict=True)
            ]
            pending.clear()
            if all(curve.diverged_at is not None for curve in curves):
                return curves
            if observe is not None:
                observe(step, [curve.losses[-1] if curve.diverged_at is None else math.nan for curve in curves])
            if done is not None and done():
                break
    # The last step may leave parameters that are not finite, though its loss was.
    diverged = (~rows.values.isfinite().all(1)).tolist()
    return [
        curve._replace(diverged_at=step) if bad and curve.diverged_at is None else curve
        for curve, bad in zip(curves, diverged, strict=True)
    ]


def _extend(curve: Training, step: int, losses: list[float]) -> Training:
    """Add a point to the curve: the mean of ``losses``, of the steps up to ``step``, or the step of divergence."""
    for i, loss in enumerate(losses):
        if not math.isfinite(loss):
            return curve._replace(diverged_at=step - len(losses) + 1 + i)
    return curve._replace(steps=[*curve.steps, step], losses=[*curve.losses, math.fsum(losses) / len(losses)])


def _copy_gradients(parameters: list[nn.Parameter], views: list[Tensor]) -> None:
    """Copy each parameter's gradient into its view; zeros for parameters that the losses do not depend on."""
    places, values = [], []
    for place, parameter in zip(views, parameters, strict=True):
        if parameter.grad is None:
            place.zero_()
        else:
            places.append(place)
            values.append(parameter.grad)
    torch._foreach_copy_(places, values)  # pyright: ignore[reportPrivateImportUsage]  # no public function copies all at once
