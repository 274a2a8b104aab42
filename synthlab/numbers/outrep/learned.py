"""Maps of the target that are learned with the model, by the likelihood of the original targets."""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Annotated

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.layers import ensemble_parameter
from synthlab.numbers.outrep.base import POSITIVE, Interval, OutRepModule, Values
from synthlab.runs.registry import show
from synthlab.styles import DASHDOT, MIDNIGHT, ORCHID, Style

Positive = Annotated[float, Field(gt=0)]
# Before training; powers of targets outside this range exceed single precision.
Exponent = Annotated[float, Field(ge=-8, le=8)]

SMALL = 1e-3  # for smaller abs(t), (exp(t) - 1) / t is computed from four terms of its series, exact to 1e-14


class LearnedOutRep(OutRepModule):
    """A map of the target with parameters, which are trained with those of the model.

    The loss is that of the likelihood of the original targets. If f(y) has Gaussian errors of any variance, the most
    likely map has the least ``mean((z - f(y))^2) * exp(-2 mean(log |f'(y)|))``. The second factor prevents a map from
    lowering its loss by making all targets alike (change of variables; Box and Cox, 1964, in this normalized form).

    A subclass creates its parameters in ``initialise``, with a leading dimension of E models. ``f`` and ``f_inverse``
    take and return numbers [E, N]: row e is mapped by model e. The domain is the same for all models, the image may
    depend on the parameters.

    Example:
        >>> import math, torch, synthlab
        >>> from synthlab.models.layers import ensemble_parameter
        >>> class LearnedPower(synthlab.LearnedOutRep):
        ...     "f(x) = x^p with p learned, from 1."
        ...     domain = image = synthlab.Interval(0.0, math.inf, open_low=True)
        ...     def initialise(self, generators):
        ...         self.p = ensemble_parameter(len(generators), 1)
        ...         self.p.data.fill_(1.0)
        ...     def f(self, x):
        ...         return x**self.p
        ...     def f_inverse(self, z):
        ...         return z ** (1 / self.p)
        >>> map = LearnedPower(shift=0.0)
        >>> map.initialise([torch.Generator()])
        >>> map.forward(torch.tensor([1.0, 2.0])).tolist(), map.log_slope(torch.tensor([[1.0, 2.0]])).tolist()
        ([1.0, 2.0], [[0.0, 0.0]])
        >>> {name: values.tolist() for name, values in map.learned().items()}
        {'p': [1.0]}
    """

    def learned(self) -> dict[str, Float[Tensor, " E"]]:
        """Return the learned parameters by name, one number each.

        Records have them at each point of the training curve.
        """
        found = {}
        for name, values in self.named_parameters():
            columns = values.detach().flatten(1).T
            found |= {name if len(columns) == 1 else f"{name}_{i}": column for i, column in enumerate(columns, 1)}
        return found

    def member(self, index: int) -> "LearnedOutRep":
        one = deepcopy(self)
        for parameter in one.parameters():
            parameter.data = parameter.data[index : index + 1].cpu().clone()
            parameter.requires_grad_(False)
        return one

    def forward(self, y: Values) -> Values:
        return self._map_rows(self.f, y + self.shift)

    def inverse(self, z: Values) -> Values:
        return self._map_rows(self.f_inverse, z) - self.shift

    def loss_scale(self, y: Float[Tensor, "E B L"], weights: Float[Tensor, "E #B L"]) -> Float[Tensor, " E"]:
        """Return ``exp(-2 mean(log |f'|))`` of each model."""
        slopes = self._map_rows(self.log_slope, y + self.shift)
        return torch.exp(-2 * (slopes * weights).sum((1, 2)) / y.shape[1])

    def _map_rows(self, function: Callable[[Tensor], Tensor], values: Values) -> Values:
        models = len(next(self.parameters()))
        return function(values.reshape(models, -1)).reshape(values.shape)


class Monotone(LearnedOutRep):
    """A chain of powers: in each of ``pieces`` pieces of log x, f(x) = a + b x^m with an exponent m of its own.

    Value and slope agree where pieces meet, at ``knots``. So f increases strictly, is continuously differentiable, and
    has an inverse in closed form. The outer pieces are unbounded: beyond the training targets, f continues with the
    power of the last piece. In other words, log(x f'(x)) is a linear spline in log x, whose slopes are the exponents
    (compare Durkan et al., 2019, whose splines end in straight lines).
    """

    style = Style("learned chain of powers", ORCHID, DASHDOT, "h")

    domain = POSITIVE

    def __init__(
        self,
        shift: float | None,
        start: Exponent,
        pieces: Annotated[int, Field(ge=1, le=64)],
        knots: list[Positive] | None,
    ):
        super().__init__(shift)
        self.start = start
        self.knots = [1.0] * pieces if knots is None else knots  # where each piece begins, except the first
        if len(self.knots) != pieces or (knots and sorted(set(knots)) != knots):
            raise InputError(f"outrep.knots={show(knots)}: must be {pieces} increasing numbers, one for each piece")
        self.begins: Tensor
        self.register_buffer("begins", torch.tensor(self.knots, dtype=torch.float64), persistent=False)

    def complete(self, config, smallest, largest):
        """Choose knots that divide the training targets evenly in log x."""
        config = super().complete(config, smallest, largest)
        if config.get("knots", []) is not None:
            return config
        low, high, pieces = smallest + config["shift"], largest + config["shift"], len(self.knots)
        return config | {"knots": [low * (high / low) ** (j / pieces) for j in range(pieces)]}

    def initialise(self, generators):
        self.exponent = ensemble_parameter(len(generators), len(self.knots))
        self.exponent.data.fill_(self.start)

    @property
    def image(self):  # pyright: ignore[reportIncompatibleVariableOverride]  # of a map of one model
        exponents = self.exponent.detach().double()
        _, slopes, values = (each[0] for each in self._pieces(exponents))
        first, last = (float(exponents[0, end]) for end in (0, -1))
        low = -1 / first if first > 0 else -math.inf
        high = float(values[-1] - slopes[-1].exp() / last) if last < 0 else math.inf
        return Interval(low, high, open_low=True)

    def f(self, x):
        m, begin, slope, value = self._pieces_at(x.log(), self._begins(x)[1:])
        return value + slope.exp() * grow(m, x.log() - begin)

    def log_slope(self, x):
        m, begin, slope, _ = self._pieces_at(x.log(), self._begins(x)[1:])
        return slope + m * (x.log() - begin) - x.log()

    def f_inverse(self, z):
        _, _, values = self._pieces(self.exponent.to(z))
        m, begin, slope, value = self._pieces_at(z, values[:, 1:].contiguous())
        return (begin + shrink(m, (z - value) * (-slope).exp())).exp()

    def _begins(self, like: Tensor) -> Float[Tensor, " K"]:
        """Return where pieces begin, in log x. There the first has the value 0 and x f'(x) = 1."""
        return self.begins.to(like).log()

    def _pieces(self, m: Float[Tensor, "E K"]) -> tuple[Tensor, Tensor, Tensor]:
        """Return, for exponents ``m``, where each piece begins, in log x, and log(x f'(x)) and f there."""
        begins = self._begins(m)
        widths, before = begins.diff(), m[:, :-1]
        zero = m.new_zeros(len(m), 1)
        slopes = torch.cat((zero, (before * widths).cumsum(1)), 1)
        values = torch.cat((zero, (slopes[:, :-1].exp() * grow(before, widths)).cumsum(1)), 1)
        return begins.expand_as(m), slopes, values

    def _pieces_at(self, at: Float[Tensor, "E N"], ends: Float[Tensor, "*E inner"]) -> list[Float[Tensor, "E N"]]:
        """Return the exponent of the piece that each number lies in, where it begins, and log(x f'(x)) and f there."""
        m = self.exponent.to(at)
        piece = torch.searchsorted(ends.expand(len(at), -1).contiguous(), at, right=True)
        return [each.gather(1, piece) for each in (m, *self._pieces(m))]


class BoxCox(Monotone):
    """f(x) = (x^p - 1) / p, log(x) at p = 0, with the exponent p learned (Box and Cox, 1964)."""

    style = Style("learned power (Box-Cox)", MIDNIGHT, "-", "*")

    def __init__(self, shift: float | None, start: Exponent):
        super().__init__(shift, start, pieces=1, knots=[1.0])


def grow(m: Values, d: Values) -> Values:
    """Return (exp(m d) - 1) / m, or d at m = 0, with exact gradients there too."""
    t = m * d
    small = t.abs() < SMALL
    series = d * (1 + t / 2 * (1 + t / 3 * (1 + t / 4)))
    return torch.where(small, series, torch.where(small, 1.0, t).expm1() / torch.where(small, 1.0, m))


def shrink(m: Values, r: Values) -> Values:
    """Return log(1 + m r) / m, or r at m = 0: the inverse of ``grow``."""
    straight = m == 0
    return torch.where(straight, r, (m * r).clamp(min=-1).log1p() / torch.where(straight, 1.0, m))
