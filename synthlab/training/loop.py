"""The only training loop. It knows neither the models nor the task: it minimizes what an objective returns."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from synthlab.config.base import Protocol

Observer = Callable[[int, list[float]], None]

ALIGNMENT = 16  # numbers; 64 bytes, the widest vectors and what products of matrices are fastest on


class Training(NamedTuple):
    """How a training went: ``losses[i]`` is the mean loss over the steps up to ``steps[i]`` since the point before.

    ``diverged_at`` is the first step whose loss was not finite (the curve ends before it), or the last step where that
    one left parameters that are not finite; None otherwise.
    """

    steps: list[int]
    losses: list[float]
    diverged_at: int | None


def train(
    parameters: Iterable[nn.Parameter],
    objective: Callable[[], Tensor],
    protocols: Sequence[Protocol],
    observe: Observer | None = None,
) -> list[Training]:
    """Minimize each of the losses that ``objective()`` returns, one for each model, as ``protocols`` say.

    The models share no parameter: every parameter has a leading dimension of models (any shape where there is one model
    alone). Their protocols differ in name and learning rate at most. ``observe(step, losses)`` is called at each point
    of the training curve, with the models as they then are. Reading losses waits for the device, so it is done only
    there.
    """
    protocol, parameters = protocols[0], [parameter for parameter in parameters if parameter.requires_grad]
    values, gradients = _as_rows(parameters, len(protocols))
    optimizer = _Optimizer(values, protocols)
    curves = [Training([], [], None) for _ in protocols]
    pending: list[Tensor] = []
    for step in range(1, protocol.steps + 1):
        losses = objective()
        for parameter in parameters:
            parameter.grad = None
        losses.sum().backward()
        _copy_gradients(parameters, gradients)
        optimizer.step(step)
        pending.append(losses.detach())
        if step % protocol.record_every == 0 or step == protocol.steps:
            curves = [
                curve if curve.diverged_at is not None else _extended(curve, step, recent)
                for curve, recent in zip(curves, torch.stack(pending).reshape(len(pending), -1).T.tolist(), strict=True)
            ]
            pending.clear()
            if all(curve.diverged_at is not None for curve in curves):
                return curves
            if observe is not None:
                observe(step, [curve.losses[-1] if curve.diverged_at is None else math.nan for curve in curves])
    # What the last step ruined shows in no loss.
    ruined = (~values.isfinite().all(1)).tolist()
    return [
        curve._replace(diverged_at=protocol.steps) if bad and curve.diverged_at is None else curve
        for curve, bad in zip(curves, ruined, strict=True)
    ]


def learning_rate(step: int, protocol: Protocol, highest: float | None = None) -> float:
    """The learning rate of ``step`` (from 1): a linear rise to ``highest`` (the protocol's) over the warm-up, then half
    a cosine down towards 0."""
    highest = protocol.lr if highest is None else highest
    warmup = round(protocol.warmup * protocol.steps)
    if step <= warmup:
        return highest * step / warmup
    done = (step - warmup - 1) / (protocol.steps - warmup)
    return highest * 0.5 * (1 + math.cos(math.pi * done))


def _extended(curve: Training, step: int, losses: list[float]) -> Training:
    """The curve with the losses of the steps up to ``step``, or with the first of them that is not finite."""
    for i, loss in enumerate(losses):
        if not math.isfinite(loss):
            return curve._replace(diverged_at=step - len(losses) + 1 + i)
    return curve._replace(steps=[*curve.steps, step], losses=[*curve.losses, math.fsum(losses) / len(losses)])


def _as_rows(parameters: list[nn.Parameter], models: int) -> tuple[nn.Parameter, list[Tensor]]:
    """A matrix whose rows hold all parameters of each model, which become views of it; and the parts of its gradient
    that belong to each parameter.

    One matrix takes one call of the optimizer, not one a parameter. Each parameter starts at a multiple of
    ``ALIGNMENT``, so that vectorized arithmetic treats a model's numbers alike wherever in the stack it stands.
    """
    sizes = [-(-parameter.numel() // models // ALIGNMENT) * ALIGNMENT for parameter in parameters]
    rows = nn.Parameter(parameters[0].new_zeros(models, sum(sizes)))
    rows.grad = torch.zeros_like(rows)
    gradients, end = [], 0
    for parameter, size in zip(parameters, sizes, strict=True):
        part = slice(end, end + parameter.numel() // models)
        rows.data[:, part] = parameter.data.reshape(models, -1)
        parameter.data = rows.data[:, part].view(parameter.shape)
        gradients.append(rows.grad[:, part].view(parameter.shape))
        end += size
    return rows, gradients


def _copy_gradients(parameters: list[nn.Parameter], gradients: list[Tensor]) -> None:
    """Each parameter's gradient to its place among the rows; zero where the losses did not depend on it."""
    found = [(place, parameter.grad) for place, parameter in zip(gradients, parameters, strict=True)]
    for place, gradient in found:
        if gradient is None:
            place.zero_()
    used = [(place, gradient) for place, gradient in found if gradient is not None]
    places, values = [place for place, _ in used], [gradient for _, gradient in used]
    torch._foreach_copy_(places, values)  # pyright: ignore[reportPrivateImportUsage]  # nothing public copies all at once


class _Optimizer:
    """Adam or SGD on rows of parameters, a group of rows for each learning rate.

    By torch's functions, not its classes: these import the compiler when they are made, which takes longer than all
    else at start-up (measured: 1.3 of 3.5 s).
    """

    def __init__(self, rows: nn.Parameter, protocols: Sequence[Protocol]):
        self.protocol, end = protocols[0], 0
        self.groups: list[_Group] = []
        gradients = rows.grad
        assert gradients is not None  # ``_as_rows`` made them
        for lr, members in groupby(protocol.lr for protocol in protocols):
            part = slice(end, end + len(list(members)))
            count = torch.zeros((), device=rows.device)
            self.groups.append(_Group(lr, rows.data[part], gradients[part], count))
            end = part.stop

    def step(self, number: int) -> None:
        """Step ``number`` (from 1) along the gradients as they now are."""
        for group in self.groups:
            lr = learning_rate(number, self.protocol, group.lr)
            (self._adam if self.protocol.optimizer == "adam" else self._sgd)(group, lr)

    def _adam(self, group: "_Group", lr: float) -> None:
        if not group.state:
            group.state = [torch.zeros_like(group.rows), torch.zeros_like(group.rows)]
        mean, square = group.state
        adam(
            *([group.rows], [group.gradients], [mean], [square], [], [group.count]),
            fused=True,
            amsgrad=False,
            beta1=self.protocol.momentum,
            beta2=self.protocol.beta2,
            lr=lr,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def _sgd(self, group: "_Group", lr: float) -> None:
        momentum: list[Tensor | None] = [*group.state] or [None]
        sgd(
            *([group.rows], [group.gradients], momentum),
            fused=True,
            weight_decay=0.0,
            momentum=self.protocol.momentum,
            lr=lr,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        group.state = [buffer for buffer in momentum if buffer is not None]


@dataclass
class _Group:
    """Rows that have one learning rate, their gradients, and what the optimizer remembers of them."""

    lr: float
    rows: Tensor
    gradients: Tensor
    count: Tensor  # of the steps taken; Adam corrects its averages by it
    state: list[Tensor] = field(default_factory=list)
