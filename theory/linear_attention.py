"""Expected errors of linear attention, exact (paper, appendix B.1, equations 5 to 8 and 12).

A prefix x_1..x_l is read out as g = 1/l sum_i M[x_l, x_i], where M[a, b] = (q(a) . k(b)) v(b): two symbols, so four
numbers decide the model. g depends on the last symbol and the number of ones alone, so an expectation over all 2^l
sequences is a sum over those two.
"""

from collections.abc import Callable
from fractions import Fraction

import sympy
from sympy import Expr, Matrix, Rational

from synthlab.errors import InputError

HALF = Rational(1, 2)
# What each task asks of a prefix, given its number of ones and its length.
TARGETS: dict[str, Callable[[int, int], Rational]] = {
    "mean": lambda ones, length: Rational(ones, length),
    "length": lambda ones, length: Rational(length),
    "sum": lambda ones, length: Rational(ones),
}


def expected_error(outputs: Matrix, task: str, length: int, p: Fraction | Rational = HALF) -> Expr:
    """E (g(x) - y(x))^2 over sequences of ``length`` independent symbols, each 1 with probability ``p`` (equation 12).

    ``outputs`` is M, 2 x 2: row the last symbol, column the symbol attended to. Its entries may be symbols of sympy's;
    the result is then a quadratic polynomial in them. Raises InputError for an unknown task or a length below 1.
    """
    if task not in TARGETS:
        raise InputError(f"task={task}: unknown; choose from {', '.join(TARGETS)}")
    if length != int(length) or length < 1:
        raise InputError(f"length={length}: must be a whole number, 1 or more")
    p = sympy.sympify(p)
    total = sympy.Integer(0)
    for last in (0, 1):
        for others in range(length):  # ones among the first length - 1 symbols
            ones = others + last
            probability = sympy.binomial(length - 1, others) * p**ones * (1 - p) ** (length - ones)
            readout = (ones * outputs[last, 1] + (length - ones) * outputs[last, 0]) / length
            total += probability * (readout - TARGETS[task](ones, length)) ** 2
    return sympy.expand(total)


def training_loss(outputs: Matrix, task: str, train_length: int, p: Fraction | Rational = HALF) -> Expr:
    """The training loss: the mean of ``expected_error`` over the lengths 1..``train_length`` (equations 8 and 12)."""
    return sum(expected_error(outputs, task, length, p) for length in range(1, train_length + 1)) / train_length
