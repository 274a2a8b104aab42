"""The interface of OutRep, an invertible map of the target (paper, section 3)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from synthlab.models.layers import Generators
from synthlab.runs.sources import Sourced

Values = Float[Tensor, "..."]


class Interval(NamedTuple):
    """The numbers from ``low`` to ``high``, without infinite ends; if ``open_low``, without ``low``.

    Example:
        >>> import math, torch, synthlab
        >>> positive = synthlab.Interval(0.0, math.inf, open_low=True)
        >>> str(positive), positive.contains(torch.tensor([0.0, 2.0, math.inf])).tolist()
        ('(0, inf)', [False, True, False])
    """

    low: float
    high: float
    open_low: bool = False

    def contains(self, y: Values) -> Bool[Tensor, "..."]:
        """Return True for each value that lies inside."""
        above = y > self.low if self.open_low else y >= self.low
        return above & (y <= self.high) & y.isfinite()

    def __str__(self):
        left = "(" if self.open_low or math.isinf(self.low) else "["
        return f"{left}{self.low:g}, {self.high:g}{')' if math.isinf(self.high) else ']'}"


REALS = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf, open_low=True)
NON_NEGATIVE = Interval(0.0, math.inf)


class OutRep(Sourced, ABC):
    """A map of the target: strictly monotone f from ``domain`` onto ``image``, acting on y + ``shift``.

    The model is trained on f(y + shift), and its output z is decoded as f^-1(z) - shift. The constructor must take
    ``shift``, and pass it on; its other keyword arguments are the keys of the config group ``outrep``.

    Attributes:
        domain: Where f is defined, an ``Interval``.
        image: The image of the domain under f, an ``Interval``.
        increasing: True if f increases.
        shift: c in f(y + c), in the units of the target.
        style: How figures name and draw it, a ``synthlab.styles.Style``; optional.

    Example:
        >>> import math, torch, synthlab
        >>> class Cube(synthlab.OutRep):
        ...     "f(x) = x^3, on numbers from 0 on."
        ...     domain = image = synthlab.Interval(0.0, math.inf)
        ...     def f(self, x):
        ...         return x**3
        ...     def f_inverse(self, z):
        ...         return z ** (1 / 3)
        >>> map = Cube(shift=1.0)
        >>> z = map.forward(torch.tensor([0.0, 1.0]))
        >>> z.tolist(), map.inverse(z).tolist()
        ([1.0, 8.0], [0.0, 1.0])
        >>> map.clip(torch.tensor([-3.0, 5.0, 99.0]), largest=2.0).tolist()  # (2 + 1)^3 = 27
        [0.0, 5.0, 27.0]
    """

    domain: Interval
    image: Interval
    increasing: bool = True

    def __init__(self, shift: float | None = None):
        self.shift = shift or 0.0

    @abstractmethod
    def f(self, x: Values) -> Values:
        """Return the value of the map at x, for x in its domain."""

    @abstractmethod
    def f_inverse(self, z: Values) -> Values:
        """Return the inverse of f, for z in its image."""

    def forward(self, y: Values) -> Values:
        """Map from the original scale to representation space: f(y + c)."""
        return self.f(y + self.shift)

    def inverse(self, z: Values) -> Values:
        """Map from representation space, inside the image, to the original scale: f^-1(z) - c."""
        return self.f_inverse(z) - self.shift

    def clip(self, z: Values, largest: float) -> Values:
        """Clip outputs, in representation space, to those that decode to at most ``largest``, in the original scale.

        Since f is monotone, these form an interval: the image cut off at f(largest + c).
        """
        end = float(self.forward(torch.tensor(largest, dtype=torch.float64)).detach())
        return z.clamp(self.image.low, end) if self.increasing else z.clamp(end, self.image.high)

    def log_slope(self, x: Values) -> Values:
        """Return ``log |f'(x)|``, by automatic differentiation unless a subclass has a formula."""
        keep_graph = torch.is_grad_enabled()
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.f(x).sum(), x, create_graph=keep_graph)
        return slope.abs().log()

    def loss_scale(self, y: Float[Tensor, "E B L"], weights: Float[Tensor, "E #B L"]) -> Float[Tensor, " E"]:
        """Return the factor of each model's squared error: 1, unless the map is learned.

        ``weights`` are those of the lengths, which add up to 1 in each row.
        """
        return y.new_ones(len(y))

    def default_shift(self, smallest: float) -> float:
        """Return the default shift: 0 if the smallest target lies in the domain, else the shift that moves it to 1.

        For the sum, f is then 1/sqrt(y + 1), for example.
        """
        return 0.0 if self.domain.contains(torch.tensor(smallest)) else 1.0 - smallest

    def complete(self, config: Mapping[str, Any], smallest: float, largest: float) -> dict[str, Any]:
        """Return the config with defaults in place of null.

        Args:
            config: The map's name and the settings that it was made from, by key.
            smallest: The smallest target in training, in its own units.
            largest: The largest target in training.

        Returns:
            The config with numbers in the place of null.
        """
        if config["shift"] is not None:
            return {**config, "shift": config["shift"] + 0.0}  # -0.0 is the same shift as 0.0
        return {**config, "shift": float(self.default_shift(smallest)) + 0.0}


class OutRepModule(OutRep, nn.Module):
    """A map that differs between the models of an ensemble; its parameters are stored with theirs.

    ``initialise`` makes the parameters, with a leading dimension of E models
    (``synthlab.models.layers.ensemble_parameter``).
    """

    def __init__(self, shift: float | None = None):
        nn.Module.__init__(self)
        OutRep.__init__(self, shift)

    @abstractmethod
    def initialise(self, generators: Generators) -> None:
        """Create the parameters, and initialize those of each model from its own generator."""

    @abstractmethod
    def member(self, index: int) -> OutRep:
        """Return the map of one model, as it is now."""
