"""OutRep: invertible maps of the target (paper, section 3)."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from synthlab.config.registry import Registry
from synthlab.errors import InputError

Values = Float[Tensor, "..."]


class Interval(NamedTuple):
    """The numbers from ``low`` to ``high``; without infinite ends, and without ``low`` if ``open_low``.

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
        """Whether each value lies inside."""
        above = y > self.low if self.open_low else y >= self.low
        return above & (y <= self.high) & y.isfinite()

    def __str__(self):
        left = "(" if self.open_low or math.isinf(self.low) else "["
        return f"{left}{self.low:g}, {self.high:g}{')' if math.isinf(self.high) else ']'}"


REALS = Interval(-math.inf, math.inf)
POSITIVE = Interval(0.0, math.inf, open_low=True)
NON_NEGATIVE = Interval(0.0, math.inf)


class OutRep(ABC):
    """A map of the target: strictly monotone f from ``domain`` onto ``image``, acting on y + ``shift``.

    The model is trained on f(y + shift), and its output z is decoded as f^-1(z) - shift. The constructor must take
    ``shift``, and pass it on; its other keyword arguments are the keys of the config group ``outrep``.

    Attributes:
        domain: Where f is defined, an ``Interval``.
        image: The image of the domain under f, an ``Interval``.
        increasing: Whether f increases.
        shift: c in f(y + c), in the units of the answer.

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

    def __init__(self, shift: float | None):
        self.shift = shift or 0.0

    @abstractmethod
    def f(self, x: Values) -> Values:
        """f, on its domain."""

    @abstractmethod
    def f_inverse(self, z: Values) -> Values:
        """The inverse of f, on its image."""

    def forward(self, y: Values) -> Values:
        """From the original scale to representation space: f(y + c)."""
        return self.f(y + self.shift)

    def inverse(self, z: Values) -> Values:
        """From representation space, inside the image, to the original scale: f^-1(z) - c."""
        return self.f_inverse(z) - self.shift

    def clip(self, z: Values, largest: float) -> Values:
        """Clip outputs, in representation space, to those that decode to an answer of at most ``largest``, in the
        original scale: f is monotone, so these form an interval, the image cut off at f(largest + c)."""
        end = float(self.forward(torch.tensor(largest, dtype=torch.float64)))
        return z.clamp(self.image.low, end) if self.increasing else z.clamp(end, self.image.high)

    def default_shift(self, smallest: float) -> float:
        """The default shift: 0 if the smallest target lies in the domain, else the shift that moves it to 1 (for the
        sum: 1/sqrt(y + 1))."""
        return 0.0 if self.domain.contains(torch.tensor(smallest)) else 1.0 - smallest


class Identity(OutRep):
    """f(x) = x: the target itself."""

    domain, image = REALS, REALS

    def f(self, x: Values) -> Values:
        return x

    def f_inverse(self, z: Values) -> Values:
        return z


class Sqrt(OutRep):
    """f(x) = sqrt(x) (paper, section 3)."""

    domain, image = NON_NEGATIVE, NON_NEGATIVE

    def f(self, x: Values) -> Values:
        return x.sqrt()

    def f_inverse(self, z: Values) -> Values:
        return z.square()


class Log(OutRep):
    """f(x) = log(x) (paper, section 3)."""

    domain, image = POSITIVE, REALS

    def f(self, x: Values) -> Values:
        return x.log()

    def f_inverse(self, z: Values) -> Values:
        return z.exp()


class Rsqrt(OutRep):
    """f(x) = 1/sqrt(x) (paper, section 3: the best of its maps)."""

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.rsqrt()

    def f_inverse(self, z: Values) -> Values:
        return z.square().reciprocal()


class Reciprocal(OutRep):
    """f(x) = 1/x (reviews, answer Q2 to the third reviewer)."""

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.reciprocal()

    def f_inverse(self, z: Values) -> Values:
        return z.reciprocal()


class Rlog(OutRep):
    """f(x) = 1/log(x + 1) (reviews, answer Q2 to the third reviewer)."""

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.log1p().reciprocal()

    def f_inverse(self, z: Values) -> Values:
        return z.reciprocal().expm1()


class Power(OutRep):
    """f(x) = x^p for any p but 0; sqrt, 1/x and 1/sqrt(x) are members."""

    def __init__(self, shift: float | None, p: float):
        super().__init__(shift)
        if p == 0:
            raise InputError("outrep.p=0: must not be 0, which maps every target to 1")
        self.p = p
        self.increasing = p > 0
        self.domain = self.image = NON_NEGATIVE if p > 0 else POSITIVE

    def f(self, x: Values) -> Values:
        return x.pow(self.p)

    def f_inverse(self, z: Values) -> Values:
        return z.pow(1 / self.p)


OUTREPS = Registry(
    "outrep",
    OutRep,
    {
        "identity": Identity,
        "sqrt": Sqrt,
        "log": Log,
        "rsqrt": Rsqrt,
        "reciprocal": Reciprocal,
        "rlog": Rlog,
        "power": Power,
    },
)
