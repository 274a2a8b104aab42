"""The lab's output maps for exact arithmetic: those of ``synthlab.numbers.outrep``, over sympy's numbers.

Domain, image, direction and default shift are those of the library's map; a test compares both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy
import torch
from sympy import Expr

from synthlab.errors import InputError
from synthlab.numbers.outrep import OUTREPS, OutRep
from synthlab.numbers.tasks import TASKS
from synthlab.runs.composition import compose
from synthlab.runs.registry import describe_unknown
from theory.closed_forms.linear_attention import check_number

# f and its inverse.
FUNCTIONS: dict[str, tuple[Callable[[Expr], Expr], Callable[[Expr], Expr]]] = {
    "identity": (lambda x: x, lambda z: z),
    "sqrt": (sympy.sqrt, lambda z: z**2),
    "log": (sympy.log, sympy.exp),
    "rsqrt": (lambda x: 1 / sympy.sqrt(x), lambda z: z**-2),
    "reciprocal": (lambda x: 1 / x, lambda z: 1 / z),
    "rlog": (lambda x: 1 / sympy.log(x + 1), lambda z: sympy.exp(1 / z) - 1),
}
RATIONAL = ("identity", "reciprocal")  # those that take rational numbers to rational numbers


@dataclass(frozen=True)
class Map:
    """f acting on y + ``shift``; outputs outside the range of predictions are clipped as in the library."""

    name: str
    shift: Expr

    @property
    def library_map(self) -> OutRep:
        """The same map of the library."""
        return OUTREPS[self.name](float(self.shift))

    @classmethod
    def from_name(cls, name: Any, task: str, shift: Any = None) -> "Map":
        """Return the map ``name`` for the targets of ``task``; a ``shift`` of None is the library's default.

        Raises InputError for an unknown map, or a shift that is no number or leaves targets outside its domain.
        """
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise InputError(describe_unknown("outrep", name, FUNCTIONS))
        smallest = TASKS[task]().span(1)[0]
        if shift is None:
            shift = OUTREPS[name](None).default_shift(smallest)
        chosen = cls(name, check_number("shift", shift))
        library_map = chosen.library_map
        if not library_map.domain.contains(torch.tensor(smallest + library_map.shift)):
            raise InputError(
                f"shift={shift}: takes the least target of task={task} to {smallest + library_map.shift:g}, "
                f"outside the domain {library_map.domain} of outrep={name}"
            )
        return chosen

    @property
    def plain(self) -> bool:
        """True if it does not change targets."""
        return self.name == "identity" and self.shift == 0

    @property
    def rational(self) -> bool:
        """True if rational targets stay rational."""
        return self.name in RATIONAL

    def forward(self, y: Any) -> Expr:
        """Return f(y + c)."""
        return FUNCTIONS[self.name][0](sympy.sympify(y) + self.shift)

    def answer(self, z: Expr) -> Expr:
        """Return f^-1(z) - c, after the output ``z`` is clipped as in the evaluation.

        It is clipped to outputs that decode to at most ``evaluation.largest`` (``OutRep.clip``).
        """
        if self.name == "identity" and abs(z) <= find_largest():
            return z - self.shift
        end = self.forward(find_largest())
        image = self.library_map.image
        low, high = (image.low, end) if self.library_map.increasing else (end, image.high)
        clipped = sympy.sympify(low) if z < low else sympy.sympify(high) if z > high else z
        return FUNCTIONS[self.name][1](clipped) - self.shift


@cache
def find_largest() -> Expr:
    """Return the largest prediction in the evaluation (``evaluation.largest``)."""
    return sympy.Integer(int(compose([])["evaluation"]["largest"]))
