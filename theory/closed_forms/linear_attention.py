"""Expected errors of linear attention, exact (paper, appendix B.1, equations 5 to 8 and 12).

A prefix x_1..x_l is read out as g = 1/l sum_i M[x_l, x_i], where M[a, b] = (q(a) . k(b)) v(b): two symbols, so the
model is determined by four numbers. With a BOS that is attended to, M has a third column and the sum is divided by l +
1. In both cases g depends only on the last symbol and the number of ones, so an expectation over all 2^l sequences is a
sum over those two. Since g is linear in M, the expected squared error is quadratic in each row of M.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb
from numbers import Integral, Real
from numbers import Rational as RationalNumber
from typing import Any, NamedTuple

import sympy
from sympy import Expr, Matrix, Rational

from synthlab.errors import InputError
from synthlab.runs.registry import describe_unknown, show

HALF = Fraction(1, 2)
LONGEST = 1000  # the longest training length: losses are sums over its square
Target = Callable[[int, int], Any]
# The target of a prefix in each task, given its number of ones and its length.
TARGETS: dict[str, Target] = {
    "mean": lambda ones, length: Fraction(ones, length),
    "length": lambda ones, length: Fraction(length),
    "sum": lambda ones, length: Fraction(ones),
}


class Moments(NamedTuple):
    """Moments that give the expected error of a row m of M, on the event that the row's symbol comes last.

    The error is m gram m - 2 cross m + square. All three include the probability of that event.
    """

    gram: Matrix
    cross: Matrix
    square: Expr

    def error(self, row: Matrix) -> Expr:
        """Return the part of the expected squared error due to the row m = ``row``."""
        return (row * self.gram * row.T)[0] - 2 * (row * self.cross)[0] + self.square


def outcomes(length: int, last: int, p: Fraction = HALF) -> Iterator[tuple[int, int]]:
    """Yield each number of ones in ``length`` independent symbols that end in ``last``, with its probability.

    Each symbol is 1 with probability ``p``. The probability is a multiple of 1 / p.denominator^length.
    """
    one, zero = p.numerator, p.denominator - p.numerator
    for others in range(length):  # ones among the first length - 1 symbols
        ones = others + last
        yield ones, comb(length - 1, others) * one**ones * zero ** (length - ones)


def readout(outputs: Matrix, last: int, ones: int, length: int) -> Expr:
    """Return g for a prefix with this last symbol and number of ones (equation 7)."""
    seen = _count_seen(ones, length, outputs.cols == 3)
    return sum(count * outputs[last, column] for column, count in enumerate(seen)) / sum(seen)


def moments(target: Target, length: int, p: Fraction = HALF, bos: bool = False) -> list[Moments]:
    """Return the moments of both rows at one length, by summing over its outcomes.

    ``target`` may return sympy's numbers.
    """
    return [_moments(target, length, last, p, bos) for last in (0, 1)]


def _moments(target: Target, length: int, last: int, p: Fraction, bos: bool) -> Moments:
    gram = [[0] * (2 + bos) for _ in range(2 + bos)]
    cross, square = [Fraction(0)] * (2 + bos), Fraction(0)
    for ones, weight in outcomes(length, last, p):
        seen, y = _count_seen(ones, length, bos), target(ones, length)
        square += weight * y**2
        for i, count in enumerate(seen):
            cross[i] += weight * count * y
            gram[i] = [entry + weight * count * other for entry, other in zip(gram[i], seen, strict=True)]
    whole, total = sympy.Integer(p.denominator) ** length, length + bos
    return Moments(Matrix(gram) / (whole * total**2), Matrix(cross) / (whole * total), sympy.sympify(square) / whole)


def _count_seen(ones: int, length: int, bos: bool) -> list[int]:
    """Return the numbers of zeros, of ones and, with BOS, of BOS, in the average that is the output."""
    return [length - ones, ones, *[1] * bos]


def mixture(target: Target, train_length: int, p: Fraction = HALF, bos: bool = False) -> list[Moments]:
    """Return the moments of both rows under the training distribution: lengths uniform on 1..``train_length``."""
    lengths = [moments(target, length, p, bos) for length in range(1, train_length + 1)]
    return [
        Moments(*(sum(parts[1:], parts[0]) / train_length for parts in zip(*rows, strict=True)))
        for rows in zip(*lengths, strict=True)
    ]


def expected_error(outputs: Matrix, task: str, length: int, p: Fraction | Rational = HALF) -> Expr:
    """Return E (g(x) - y(x))^2 over sequences of ``length`` independent symbols (equation 12).

    Each symbol is 1 with probability ``p``.

    ``outputs`` is M, 2 x 2, or 2 x 3 with BOS: row the last symbol, column the symbol attended to. Its entries may be
    symbols of sympy's; the result is then a quadratic polynomial in them. Raises InputError for an unknown task, a
    length that is no integer of 1 or more, a p outside [0, 1], and outputs of a wrong shape.
    """
    outputs, p = _check_outputs(outputs), _check_probability(p)
    rows = moments(target_of(task), check_length("length", length), p, outputs.cols == 3)
    return sympy.expand(sum(row.error(outputs.row(last)) for last, row in enumerate(rows)))


def training_loss(outputs: Matrix, task: str, train_length: int, p: Fraction | Rational = HALF) -> Expr:
    """Return the training loss: the mean of ``expected_error`` over the lengths 1..``train_length``.

    See equations 8 and 12.
    """
    outputs, p = _check_outputs(outputs), _check_probability(p)
    length = check_length("train_length", train_length, most=LONGEST)
    rows = mixture(target_of(task), length, p, outputs.cols == 3)
    return sympy.expand(sum(row.error(outputs.row(last)) for last, row in enumerate(rows)))


def target_of(task: Any) -> Target:
    """Return the target of ``task``. Raises InputError, with the choices, for an unknown one."""
    if not isinstance(task, str) or task not in TARGETS:
        raise InputError(describe_unknown("task", task, TARGETS))
    return TARGETS[task]


def check_length(field: str, value: Any, most: int = 5000) -> int:
    """Return ``value`` as an integer from 1 to ``most``. Raises InputError, naming ``field``."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else 0
    if not 1 <= whole <= most:
        raise InputError(f"{field}={show(value)}: must be a whole number from 1 to {most}")
    return whole


def check_number(field: str, value: Any) -> Rational:
    """Return ``value`` as an exact rational number. Raises InputError, naming ``field``."""
    try:
        real = isinstance(value, Real | Rational) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        real = False
    if not real:
        raise InputError(f"{field}={show(value)}: must be a number")
    return sympy.Rational(value) if isinstance(value, RationalNumber | Rational) else sympy.Rational(str(float(value)))


def _check_probability(p: Any) -> Fraction:
    number = p if isinstance(p, Fraction) else check_number("p", p)
    if not 0 <= number <= 1:
        raise InputError(f"p={p}: must be from 0 to 1")
    return Fraction(int(number.numerator), int(number.denominator))


def _check_outputs(outputs: Any) -> Matrix:
    if not isinstance(outputs, sympy.MatrixBase) or outputs.shape not in ((2, 2), (2, 3)):
        shape = getattr(outputs, "shape", type(outputs).__name__)
        raise InputError(f"outputs={shape}: must be a matrix of sympy's, 2 x 2, or 2 x 3 with BOS")
    return outputs
