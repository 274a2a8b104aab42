"""The training loop of all families. It knows neither models nor tasks: it minimizes the losses of an objective."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from synthlab.config.base import Protocol

Observer = Callable[[int, list[float]], None]

ALIGNMENT = 16  # floats, 64 bytes: the width of the widest vectors, on which matrix products are fastest


class Training(NamedTuple):
    """A training curve: ``losses[i]`` is the mean loss over the steps after ``steps[i - 1]``, up to ``steps[i]``.

    ``diverged_at`` is the first step with a loss that is not finite; the curve ends before it. It is the last step if
    only the parameters are not finite after it. None if training did not diverge. ``learned`` has numbers that a family
    observes at the same steps, by name.
    """

    steps: list[int]
    losses: list[float]
    diverged_at: int | None
    learned: Mapping[str, list[float]] = {}


def train_ensemble(
    parameters: Iterable[nn.Parameter],
    objective: Callable[[], Tensor],
    protocols: Sequence[Protocol],
    observe: Observer | None = None,
    done: Callable[[], bool] | None = None,
) -> list[Training]:
    """Minimize the losses of an ensemble, one for each model, with the optimizer and steps of ``protocols``.

    ``objective()`` returns the losses [E] on the next batch. The models share no parameter: every parameter has a
    leading dimension of models (any shape for a single model). Their protocols may differ in name and learning rate
    only. ``observe(step, losses)`` is called at each point of the training curve. Losses are read only there, since
    reading them waits for the device. Training ends early where ``done()``, asked after each ``observe``, is True.
    """
    protocol, parameters = protocols[0], [parameter for parameter in parameters if parameter.requires_grad]
    values, gradients = _move_to_rows(parameters, len(protocols))
    optimizer = _Optimizer(values, protocols)
    curves = [Training([], [], None) for _ in protocols]
    pending: list[Tensor] = []
    step = 0
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
                curve if curve.diverged_at is not None else _extend(curve, step, recent)
                for curve, recent in zip(curves, torch.stack(pending).reshape(len(pending), -1).T.tolist(), strict=True)
            ]
            pending.clear()
            if all(curve.diverged_at is not None for curve in curves):
                return curves
            if observe is not None:
                observe(step, [curve.losses[-1] if curve.diverged_at is None else math.nan for curve in curves])
            if done is not None and done():
                break
    # The last step may leave parameters that are not finite, though its loss was.
    diverged = (~values.isfinite().all(1)).tolist()
    return [
        curve._replace(diverged_at=step) if bad and curve.diverged_at is None else curve
        for curve, bad in zip(curves, diverged, strict=True)
    ]


def learning_rate(step: int, protocol: Protocol, peak: float | None = None) -> float:
    """The learning rate of ``step`` (from 1): linear warm-up to ``peak`` (default: the protocol's), then cosine decay
    to 0."""
    peak = protocol.lr if peak is None else peak
    warmup = round(protocol.warmup * protocol.steps)
    if step <= warmup:
        return peak * step / warmup
    done = (step - warmup - 1) / (protocol.steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * done))


def _extend(curve: Training, step: int, losses: list[float]) -> Training:
    """Add the mean of ``losses``, those of the steps up to ``step``, to the curve, or the step of divergence."""
    for i, loss in enumerate(losses):
        if not math.isfinite(loss):
            return curve._replace(diverged_at=step - len(losses) + 1 + i)
    return curve._replace(steps=[*curve.steps, step], losses=[*curve.losses, math.fsum(losses) / len(losses)])


def _move_to_rows(parameters: list[nn.Parameter], models: int) -> tuple[nn.Parameter, list[Tensor]]:
    """Move all parameters, which become views, into one matrix with a row for each model, so that the optimizer takes
    one call. Returns the matrix, and for each parameter a view of its gradient. Each parameter starts at a multiple of
    ``ALIGNMENT``: vectorized arithmetic then rounds a model's numbers alike at any place in the ensemble."""
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
    """Copy each parameter's gradient into its view; zeros for parameters that the losses do not depend on."""
    places, values = [], []
    for place, parameter in zip(gradients, parameters, strict=True):
        if parameter.grad is None:
            place.zero_()
        else:
            places.append(place)
            values.append(parameter.grad)
    torch._foreach_copy_(places, values)  # pyright: ignore[reportPrivateImportUsage]  # no public function copies all at once


class _Optimizer:
    """Adam or SGD on the rows of a parameter matrix, in groups of rows with equal learning rates.

    It calls torch's optimizer functions. torch's optimizer classes import the compiler when constructed (measured: 1.3
    of 3.5 s of start-up).
    """

    def __init__(self, rows: nn.Parameter, protocols: Sequence[Protocol]):
        self.protocol, end = protocols[0], 0
        self.groups: list[_Group] = []
        gradients = rows.grad
        assert gradients is not None  # set by ``_move_to_rows``
        for lr, members in groupby(protocol.lr for protocol in protocols):
            part = slice(end, end + len(list(members)))
            count = torch.zeros((), device=rows.device)
            self.groups.append(_Group(lr, rows.data[part], gradients[part], count))
            end = part.stop

    def step(self, number: int) -> None:
        """Take step ``number`` (from 1) with the current gradients."""
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
    """Rows with one learning rate, their gradients, and their optimizer state."""

    lr: float
    rows: Tensor
    gradients: Tensor
    count: Tensor  # steps taken, for Adam's bias correction
    state: list[Tensor] = field(default_factory=list)
