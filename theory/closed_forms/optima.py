"""The exact minimum of linear attention's training loss, and the M that attains it.

``optimum`` proves its minimum global. Without a constraint on the rank, the loss is a convex quadratic in each row of
M, so its stationary point is the minimum; for a head of dimension 1 see ``rank_one``. ``paper_optimum`` is the paper's
optimum (between equations 14 and 22), with loss and errors computed in the same way.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy import Expr, ImmutableMatrix, Matrix, Rational

from synthlab.errors import InputError
from synthlab.runs.registry import show
from theory.closed_forms import rank_one
from theory.closed_forms.formulas import H, L, N, mixture_formula, moments_formula
from theory.closed_forms.linear_attention import (
    LONGEST,
    TARGETS,
    Moments,
    Target,
    check_length,
    mixture,
    moments,
    outcomes,
    readout,
    target_of,
)
from theory.closed_forms.maps import Map

SUMMED = 100  # moments are summed up to this length, and beyond it come from formulas if there are any
MAPPED = 200  # the longest training length with a map or BOS, for which there are no formulas


@dataclass(frozen=True, eq=False)
class Optimum:
    """An output matrix M of linear attention with its loss and errors, all exact.

    Attributes:
        task: ``mean``, ``length`` or ``sum``.
        train_length: The longest training sequence.
        head_dim: The width of queries and keys; 1 makes M rank one.
        outputs: M, a row for each last symbol, a column for each symbol attended to: zero, one, and BOS if there is
            one.
        loss: The training loss (equation 8); with a map, in representation space.
        is_unique: Whether the minimizer is unique among the M that the head can represent; if not, ``outputs`` is one
            of the minimizers.
        outrep: The map.
    """

    task: str
    train_length: int
    head_dim: int
    outputs: Matrix
    loss: Expr
    is_unique: bool
    outrep: Map

    @property
    def bos(self) -> bool:
        """True if there is a BOS to attend to."""
        return self.outputs.cols == 3

    def error(self, test_length: int) -> Expr:
        """Return the expected squared error E (answer - y)^2 on fair symbols.

        Args:
            test_length: The length of the sequences.

        Returns:
            The exact error on the original scale. With a map, the answer is f^-1 of the clipped output.
        """
        length = check_length("test_length", test_length)
        if self.outrep.plain:
            return _loss(self.outputs, _at_length(self.task, length, self.bos))
        total = sympy.Integer(0)
        for last in (0, 1):
            for ones, weight in outcomes(length, last):
                answer = self.outrep.answer(readout(self.outputs, last, ones, length))
                total += weight * (answer - TARGETS[self.task](ones, length)) ** 2
        return total / 2**length

    def to_decimals(self, digits: int = 50) -> "Optimum":
        """Return the optimum with decimal numbers, for plots, since exact sums of radicals are slow."""
        return replace(self, outputs=self.outputs.evalf(digits), loss=sympy.N(self.loss, digits))


def optimum(
    task: str,
    train_length: int,
    head_dim: int = 1,
    *,
    outrep: str = "identity",
    shift: Any = None,
    bos: bool = False,
) -> Optimum:
    """Return the global minimum of linear attention's training loss, exact.

    The loss is that of the paper's equation 8, on fair symbols and lengths 1..``train_length``.

    Args:
        task: ``mean``, ``length`` or ``sum``.
        train_length: The longest training sequence: to 1000; under a map or with BOS to 200.
        head_dim: The width of queries and keys. 1 means M of rank one; from 2 on the rank is no constraint.
        outrep: The map f of the target: the model is trained on f(y + c).
        shift: c; None for the library's default.
        bos: Whether the last symbol also attends to a BOS.

    Returns:
        The outputs M that attain the minimum, the loss, and the error at any length.

    Raises:
        InputError: The task or the map is unknown, a number is out of its range, or the case is not solved: head_dim 1
            if the best M has rank two and either a map takes rational numbers to irrational ones or there is a BOS.

    Example:
        >>> import theory
        >>> best = theory.optimum("length", train_length=10, head_dim=2)
        >>> best.loss, best.is_unique
        (1696070803/263044078, True)
        >>> round(float(best.error(50)), 2)
        1909.42
        >>> theory.optimum("mean", train_length=10).loss
        0
    """
    target_of(task)
    chosen = Map.from_name(outrep, task, shift)
    if not isinstance(bos, bool):
        raise InputError(f"bos={show(bos)}: must be true or false")
    length = check_length("train_length", train_length, LONGEST if chosen.plain and not bos else MAPPED)
    return _solve(task, length, check_length("head_dim", head_dim, most=16_384), chosen, bos)


@cache
def _solve(task: str, length: int, head_dim: int, chosen: Map, bos: bool) -> Optimum:
    rows = (
        _mix_training(task, length, bos)
        if chosen.plain
        else mixture(_map_target(TARGETS[task], chosen), length, bos=bos)
    )

    def make_optimum(outputs: Matrix, loss: Expr, is_unique: bool) -> Optimum:
        return Optimum(task, length, head_dim, ImmutableMatrix(outputs), loss, is_unique, chosen)

    free = Matrix.vstack(*((row.gram.pinv() * row.cross).T for row in rows))
    determined = all(row.gram.rank() == row.gram.rows for row in rows)
    if head_dim >= 2 or (determined and free.rank() == 1):
        return make_optimum(free, _loss(free, rows), determined)
    if not determined:  # train_length 1: a prefix is its own last symbol, the other column is never seen
        answers = [sum(free.row(last)[column] for column in (last, *[2] * bos)) for last in (0, 1)]
        outputs = Matrix([[0, 0, answer] for answer in answers]) if bos else _complete_diagonal(*answers)
        return make_optimum(outputs, _loss(outputs, rows), False)
    if bos or not chosen.rational:
        reason = "with a BOS" if bos else f"under outrep={chosen.name}"
        raise InputError(
            f"head_dim=1: {reason} the best M has rank two, and the best of rank one is not solved; give 2"
        )
    least = sorted(rank_one.minima(rows), key=lambda minimum: list(minimum.outputs))
    return make_optimum(*least[0], len(least) == 1)


def paper_optimum(task: str, train_length: int, head_dim: int = 1) -> Optimum:
    """Return the paper's optimum of linear attention, with the loss and errors that these outputs have.

    Gamma for the length task (equation 14), for the sum task with kappa'' = 0 (equation 19), and the exact solution of
    the mean task (equation 21). The errors that the paper prints for the sum task (equation 20) are twice as large.

    Args:
        task: ``mean``, ``length`` or ``sum``.
        train_length: The longest training sequence, to 1000.
        head_dim: The width of queries and keys; it affects only ``is_unique``.

    Returns:
        The paper's outputs M, their loss, and their error at any length.

    Raises:
        InputError: As ``optimum`` does.

    Example:
        >>> import theory
        >>> theory.paper_optimum("length", 10).error(50)
        7921/4
        >>> theory.paper_optimum("length", 10).loss
        33/4
    """
    best = optimum(task, train_length, head_dim)
    n = best.train_length
    zero, one = {
        "length": (Rational(n + 1, 2), Rational(n + 1, 2)),
        "sum": (Rational(0), n * (n + 3) / (2 * (n + sympy.harmonic(n)))),
        "mean": (Rational(0), Rational(1)),
    }[task]
    outputs = Matrix([[zero, one], [zero, one]])
    loss = _loss(outputs, _mix_training(task, n))
    return replace(best, outputs=ImmutableMatrix(outputs), loss=loss, is_unique=best.is_unique and loss == best.loss)


def _loss(outputs: Matrix, rows: list[Moments]) -> Expr:
    return rank_one.reduce(sum(row.error(outputs.row(last)) for last, row in enumerate(rows)))


def _at_length(task: str, length: int, bos: bool) -> list[Moments]:
    """Return the moments at one length, by sums or, for a long one without BOS, by a formula."""
    if bos or length <= SUMMED:
        return moments(TARGETS[task], length, bos=bos)
    return [Moments(*(part.subs(L, length) for part in row)) for row in moments_formula(task)]


def _mix_training(task: str, train_length: int, bos: bool = False) -> list[Moments]:
    """Return the moments of the mixture of training lengths, by sums or by a formula."""
    if bos or train_length <= SUMMED:
        return mixture(TARGETS[task], train_length, bos=bos)
    values = {H: sympy.harmonic(train_length), N: train_length}
    return [Moments(*(part.subs(values) for part in row)) for row in mixture_formula(task)]


def _map_target(plain: Target, chosen: Map) -> Target:
    if chosen.rational:
        return lambda ones, length: _to_fraction(chosen.forward(plain(ones, length)))
    return lambda ones, length: chosen.forward(plain(ones, length))


def _to_fraction(value: Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _complete_diagonal(zero: Expr, one: Expr) -> Matrix:
    """Return the rank-one M of least norm with the diagonal ``zero``, ``one``; of two, that with a positive M[0, 1]."""
    side = sympy.sqrt(abs(zero * one))
    return Matrix([[zero, side], [sympy.sign(zero * one) * side, one]])
