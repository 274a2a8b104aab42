"""The only training loop. It knows neither the model nor the task: it minimizes what an objective returns."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from synthlab.config import Protocol

Observer = Callable[[int, float], None]


class Training(NamedTuple):
    """How a training went: ``losses[i]`` is the mean loss over the steps up to ``steps[i]`` since the point before.

    ``diverged_at`` is the first step whose loss was not finite (training stopped there), or the last step where that
    one left parameters that are not finite; None otherwise.
    """

    steps: list[int]
    losses: list[float]
    diverged_at: int | None


def train(
    parameters: Iterable[nn.Parameter],
    objective: Callable[[], Tensor],
    protocol: Protocol,
    observe: Observer | None = None,
) -> Training:
    """Minimize ``objective()`` over ``parameters`` as ``protocol`` says.

    ``observe(step, loss)`` is called at each point of the training curve, with the model as it then is. Reading losses
    waits for the device, so it is done only there.
    """
    parameters = list(parameters)
    optimizer = _optimizer(parameters, protocol)
    curve = Training([], [], None)
    pending: list[Tensor] = []
    for step in range(1, protocol.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, protocol)
        loss = objective()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pending.append(loss.detach())
        if step % protocol.record_every == 0 or step == protocol.steps:
            losses = torch.stack(pending).double()
            if not losses.isfinite().all():
                first_bad = int((~losses.isfinite()).nonzero()[0])
                return curve._replace(diverged_at=step - len(pending) + 1 + first_bad)
            curve.steps.append(step)
            curve.losses.append(losses.mean().item())
            pending.clear()
            if observe is not None:
                observe(step, curve.losses[-1])
    if not all(parameter.isfinite().all() for parameter in parameters):  # the last step's doing: no loss came after it
        return curve._replace(diverged_at=protocol.steps)
    return curve


def learning_rate(step: int, protocol: Protocol) -> float:
    """The learning rate of ``step`` (from 1): a linear rise over the warm-up, then half a cosine down towards 0."""
    warmup = round(protocol.warmup * protocol.steps)
    if step <= warmup:
        return protocol.lr * step / warmup
    done = (step - warmup - 1) / (protocol.steps - warmup)
    return protocol.lr * 0.5 * (1 + math.cos(math.pi * done))


def _optimizer(parameters: Iterable[nn.Parameter], protocol: Protocol) -> torch.optim.Optimizer:
    if protocol.optimizer == "adam":
        betas = (protocol.momentum, protocol.beta2)
        return torch.optim.Adam(parameters, lr=protocol.lr, betas=betas, fused=True)
    return torch.optim.SGD(parameters, lr=protocol.lr, momentum=protocol.momentum, fused=True)
