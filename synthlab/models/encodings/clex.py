"""CLEX: rotary frequencies that follow a learned differential equation as the context grows."""

import math
from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.extensions import check_pairs, stretch_frequencies
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.encodings.rope import geometric
from synthlab.models.layers import ensemble_parameter
from synthlab.runs.run import Tokens
from synthlab.styles import TEAL, Style


class CLEX(LengthRoPE):
    """Continuous length extrapolation (Chen et al., 2024, arXiv 2310.16450, section 3, and their code).

    A text of n tokens has the length factor t = ceil(n / ``trained``), at most ``factor``. The logs z(t) of its
    frequencies begin at those of RoPE, z(1) = log theta, and solve

        dz/dt = tanh((z + log nu(t)) W_up) W_down + d/dt log nu(t),

    where nu(t) are the frequencies of ``NTK`` with the factor 2t - 1. W_down begins at 0: untrained CLEX is that NTK.
    Here y = z - log nu is integrated in place of z, by Runge and Kutta's method of order 4: y is 0 at t = 1 and changes
    by the first term alone. So the part of NTK is exact, and so is RoPE at t = 1.

    Args:
        base: The base that the model was trained with.
        factor: The largest length factor.
        trained: The training length in tokens.
        hidden: The hidden units of the network, in head widths; 0 for no network, which leaves that NTK.
        steps: The steps of integration from one whole length factor to the next.

    Example:
        >>> import torch
        >>> from synthlab import Dims
        >>> from synthlab.models.encodings.clex import CLEX
        >>> encoding = CLEX(Dims(width=8, heads=2), base=10_000.0, factor=4, trained=64, hidden=1, steps=8)
        >>> encoding.initialise([torch.Generator()])
        >>> encoding.table([64, 128], width=4)[0, :, -1]  # the lowest of 2 frequencies, divided by 2 * 2 - 1
        tensor([0.0100, 0.0033], dtype=torch.float64, grad_fn=<SelectBackward0>)
    """

    style = Style("CLEX", TEAL, "-", "h")

    def __init__(
        self,
        dims: Dims,
        /,
        base: PositiveFloat,
        factor: Annotated[int, Field(ge=1, le=1024)],
        trained: Tokens,
        hidden: Annotated[int, Field(ge=0, le=64)],
        steps: Annotated[int, Field(ge=1, le=1000)],
    ):
        super().__init__(dims, base, trained)
        check_pairs(type(self).__name__, dims)
        width = dims.width // dims.heads
        self.factor, self.steps = factor, steps
        self.up = ensemble_parameter(dims.models, width // 2, hidden * width)
        self.down = ensemble_parameter(dims.models, hidden * width, width // 2)

    def initialise(self, generators):
        for values, generator in zip(self.up.data, generators, strict=True):
            if values.numel():
                nn.init.kaiming_uniform_(values, a=math.sqrt(5), generator=generator)
        nn.init.zeros_(self.down)

    def factor_of(self, length: int) -> int:
        """Return the length factor t of a text of ``length`` tokens."""
        return min(-(-length // self.trained), self.factor)

    def frequencies_of(self, lengths, width):
        t = torch.arange(1, self.factor + 1, dtype=torch.float64, device=lengths.device)
        table = (
            stretch_frequencies(width, self.base, (2 * t - 1)[:, None], lengths.device) * self.learned_logs(width).exp()
        )
        models = torch.arange(len(table), device=lengths.device)
        return table[models[:, None], (-(-lengths // self.trained)).clamp(max=self.factor) - 1]

    def learned_logs(self, width: int) -> Float[Tensor, "E t pairs"]:
        """Return y: what the network adds to the logs of the frequencies of NTK, at each whole length factor."""
        up, down, device = self.up.double(), self.down.double(), self.up.device
        # Everything independent of y, computed at once: RK4 needs the ends and the middle of each step.
        steps = self.steps * (self.factor - 1)
        t = 1 + torch.arange(2 * steps + 1, dtype=torch.float64, device=device) / (2 * self.steps)
        pairs = torch.arange(width // 2, dtype=torch.float64, device=device)
        log_nu = geometric(width, self.base, device).log() - (2 * t - 1).log()[:, None] * 2 * pairs / (width - 2)
        fixed = (2 * log_nu @ up).split(1, 1)  # z + log nu = y + 2 log nu

        def change(time: int, y: Float[Tensor, "E 1 pairs"]) -> Float[Tensor, "E 1 pairs"]:
            return torch.baddbmm(fixed[time], y, up).tanh() @ down

        solution = integrate(change, up.new_zeros(len(up), 1, width // 2), steps, 1 / self.steps)
        return torch.cat(solution[:: self.steps], 1)

    def alike_up_to(self, length):
        t = self.factor_of(length)
        return t * self.trained if t < self.factor else math.inf


def integrate(change: Callable[[int, Tensor], Tensor], y: Tensor, steps: int, size: float) -> list[Tensor]:
    """Integrate dy/dt = ``change(time, y)`` by the classical Runge-Kutta method of order 4.

    Args:
        change: The derivative; ``time`` counts half steps.
        y: The initial value.
        steps: The number of steps.
        size: The length of a step.

    Returns:
        ``y``, and the solution after each step.
    """
    solution = [y]
    for time in range(0, 2 * steps, 2):
        first = change(time, y)
        second = change(time + 1, y.add(first, alpha=size / 2))
        third = change(time + 1, y.add(second, alpha=size / 2))
        fourth = change(time + 2, y.add(third, alpha=size))
        y = y.add(first + fourth, alpha=size / 6).add(second + third, alpha=size / 3)
        solution.append(y)
    return solution
