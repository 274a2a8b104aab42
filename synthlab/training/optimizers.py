"""Optimizers of an ensemble. Each model's parameters become what they would be if it trained alone.

The lab's optimizers update all models in one call, on a matrix with a row for each. An optimizer of the user gets one
model only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from synthlab.runs.registry import find_class
from synthlab.runs.run import Protocol

ALIGNMENT = 16  # 16 floats are 64 bytes: the widest vectors, on which matrix products are fastest
ADAM: dict[str, Any] = {"amsgrad": False, "eps": 1e-8}
SGD: dict[str, Any] = {"dampening": 0.0, "nesterov": False}
TINY = 1e-6  # added to a norm before dividing by it, as torch.nn.utils.clip_grad_norm_ does


class Rows(NamedTuple):
    """The parameters of an ensemble, which are views of these matrices, and their gradients."""

    values: Tensor  # [E, N]: all parameters of a model in one row
    gradients: Tensor  # [E, N]
    views: list[Tensor]  # the gradient of each parameter, a view of ``gradients``
    decayed: Tensor  # [N]: 1 for the parameters with weight decay, else 0


def move_to_rows(parameters: Sequence[nn.Parameter], models: int) -> Rows:
    """Move all parameters, which become views, into one matrix with a row for each model, for the optimizer.

    Each parameter starts at a multiple of ``ALIGNMENT``: vectorized arithmetic then rounds a model's numbers alike at
    any place in the ensemble.
    """
    sizes = [-(-parameter.numel() // models // ALIGNMENT) * ALIGNMENT for parameter in parameters]
    values = parameters[0].new_zeros(models, sum(sizes))
    gradients, decayed = torch.zeros_like(values), torch.zeros_like(values[0])
    views, end = [], 0
    for parameter, size in zip(parameters, sizes, strict=True):
        part = slice(end, end + parameter.numel() // models)
        values[:, part] = parameter.data.reshape(models, -1)
        parameter.data = values[:, part].view(parameter.shape)
        views.append(gradients[:, part].view(parameter.shape))
        decayed[part] = float(is_matrix(parameter, models))
        end += size
    return Rows(values, gradients, views, decayed)


def is_matrix(parameter: Tensor, models: int) -> bool:
    """Return True if weight decay applies to a parameter: if each of ``models`` models has more than one row of it.

    Weights are [E, inputs, outputs] and embeddings [E, tokens, width]; biases, and the scales of norms, are [E, 1,
    outputs].
    """
    shape = parameter.shape[1:] if parameter.shape[:1] == (models,) else parameter.shape
    return len(shape) > 1 and shape[0] > 1


def learning_rate(step: int, protocol: Protocol, peak: float | None = None) -> float:
    """Return the learning rate of ``step`` (from 1): linear warm-up to ``peak``, then the protocol's schedule.

    ``peak`` is by default the protocol's learning rate. Schedules are cosine or linear decay to 0, or constant.
    """
    peak = protocol.lr if peak is None else peak
    warmup = round(protocol.warmup * protocol.steps)
    if step <= warmup:
        return peak * step / warmup
    done = (step - warmup - 1) / (protocol.steps - warmup)
    if protocol.schedule == "constant":
        return peak
    if protocol.schedule == "linear":
        return peak * (1 - done)
    return peak * 0.5 * (1 + math.cos(math.pi * done))


def clip_gradients(gradients: Tensor, largest: float) -> None:
    """Scale the gradient of each model, a row of ``gradients`` [E, N], to a norm of at most ``largest``, in place.

    Each norm is computed separately, so that it is rounded as it would be alone.
    """
    norms = torch.stack([torch.linalg.vector_norm(row) for row in gradients])
    gradients.mul_((largest / (norms + TINY)).clamp(max=1.0).unsqueeze(1))


@dataclass
class _Group:
    """Rows with one learning rate, their gradients, and their optimizer state."""

    lr: float
    rows: Tensor
    gradients: Tensor
    count: Tensor  # the number of steps so far, for Adam's bias correction
    rate: float | Tensor  # the learning rate of the next step, on a GPU in its memory
    state: list[Tensor] = field(default_factory=list)


class RowOptimizer:
    """Adam, AdamW or SGD on the rows of a parameter matrix, in groups of rows with equal learning rates.

    It calls torch's optimizer functions, since torch's optimizer classes import the compiler when constructed (1.3 of
    3.5 s of start-up). The weight decay is decoupled (Loshchilov & Hutter, 2019: AdamW): before each step, weights
    shrink by the learning rate times ``weight_decay``.
    """

    def __init__(self, rows: Rows, protocols: Sequence[Protocol]):
        self.protocol, self.rows, end = protocols[0], rows, 0
        self.groups: list[_Group] = []
        for lr, members in groupby(protocol.lr for protocol in protocols):
            part = slice(end, end + len(list(members)))
            count = torch.zeros((), device=rows.values.device)
            rate = torch.zeros((), device=rows.values.device) if rows.values.is_cuda else 0.0
            self.groups.append(_Group(lr, rows.values[part], rows.gradients[part], count, rate))
            end = part.stop

    def set_rate(self, number: int) -> None:
        """Set the learning rate of step ``number`` (from 1)."""
        for group in self.groups:
            rate = learning_rate(number, self.protocol, group.lr)
            if isinstance(group.rate, Tensor):
                group.rate.fill_(rate)  # a graph reads it where it is
            else:
                group.rate = rate

    def update(self) -> None:
        """Take a step with the current gradients and learning rate."""
        protocol = self.protocol
        for group in self.groups:
            if protocol.weight_decay:
                group.rows.mul_(1 - group.rate * protocol.weight_decay * self.rows.decayed)
            how: dict[str, Any] = {"lr": group.rate, "weight_decay": 0.0, "maximize": False, "fused": True}
            if protocol.optimizer == "sgd":
                momentum: list[Tensor | None] = [*group.state] or [None]
                sgd([group.rows], [group.gradients], momentum, momentum=protocol.momentum, **how, **SGD)
                group.state = [buffer for buffer in momentum if buffer is not None]
            else:
                group.state = group.state or [torch.zeros_like(group.rows), torch.zeros_like(group.rows)]
                mean, square = group.state
                adam(
                    *([group.rows], [group.gradients], [mean], [square], [], [group.count]),
                    capturable=isinstance(group.rate, Tensor),
                    beta1=protocol.momentum,
                    beta2=protocol.beta2,
                    **how,
                    **ADAM,
                )


class OwnOptimizer:
    """An optimizer of the user, on the parameters of one model."""

    def __init__(self, parameters: Sequence[nn.Parameter], rows: Rows, protocol: Protocol):
        self.parameters, self.rows, self.protocol = parameters, rows, protocol
        made = find_class(protocol.optimizer, "protocol.optimizer")
        self.optimizer: torch.optim.Optimizer = made(parameters, lr=protocol.lr, **protocol.options)

    def set_rate(self, number: int) -> None:
        """Set the learning rate of step ``number`` (from 1)."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, self.protocol)

    def update(self) -> None:
        """Take a step with the current gradients and learning rate."""
        for parameter, gradient in zip(self.parameters, self.rows.views, strict=True):
            parameter.grad = gradient
        self.optimizer.step()
