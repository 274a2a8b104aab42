"""The expected error and the training loss as formulas in the length, valid for every length.

This is a second way to the values of ``linear_attention``, as a check. There, expectations are sums over outcomes. Here
they come from the moments of a binomial variable whose number of trials is symbolic.
"""

from functools import cache

import sympy
from sympy import Expr, ImmutableMatrix, Matrix

from theory.closed_forms.linear_attention import Moments

L = sympy.Symbol("l", positive=True, integer=True)  # a prefix's length
N = sympy.Symbol("n", positive=True, integer=True)  # l_train
H = sympy.harmonic(N)
FREE = Matrix(2, 2, sympy.symbols("M00 M01 M10 M11"))  # any M


@cache
def binomial_moment(k: int, trials: Expr) -> Expr:
    """Return E B^k for B ~ Bin(``trials``, 1/2): the k-th derivative at 0 of the moment generating function."""
    t = sympy.Symbol("t")
    generating = ((1 + sympy.exp(t)) / 2) ** trials
    return sympy.expand(sympy.simplify(sympy.diff(generating, t, k).subs(t, 0)))


@cache
def moments_formula(task: str) -> tuple[Moments, Moments]:
    """Return ``linear_attention.moments`` for fair symbols, as formulas in ``L``."""
    return _row(task, 0), _row(task, 1)


def _row(task: str, last: int) -> Moments:
    others = sympy.Symbol("B")  # ones among the first l - 1 symbols: Bin(l - 1, 1/2)
    ones = others + last
    fractions = Matrix([(L - ones) / L, ones / L])
    target = {"mean": ones / L, "length": L, "sum": ones}[task]

    def mean(expression: Expr) -> Expr:
        terms = sympy.Poly(expression, others).terms()
        return sympy.expand(sum(c * binomial_moment(k, L - 1) for (k,), c in terms) / 2)

    return Moments((fractions * fractions.T).applyfunc(mean), (fractions * target).applyfunc(mean), mean(target**2))


@cache
def mixture_formula(task: str) -> tuple[Moments, Moments]:
    """Return ``linear_attention.mixture`` for fair symbols, as formulas in ``N``, with harmonic numbers."""

    def average_lengths(expression: Expr) -> Expr:
        return sympy.expand(sympy.summation(expression, (L, 1, N)) / N)

    def row_over_lengths(row: Moments) -> Moments:
        return Moments(
            row.gram.applyfunc(average_lengths), row.cross.applyfunc(average_lengths), average_lengths(row.square)
        )

    zero, one = moments_formula(task)
    return row_over_lengths(zero), row_over_lengths(one)


def error_formula(outputs: Matrix, task: str) -> Expr:
    """Return ``linear_attention.expected_error`` for fair symbols as a formula in ``L``."""
    return sympy.expand(sum(row.error(outputs.row(last)) for last, row in enumerate(moments_formula(task))))


def loss_formula(outputs: Matrix, task: str) -> Expr:
    """Return ``linear_attention.training_loss`` for fair symbols as a formula in ``N``."""
    return sympy.expand(sum(row.error(outputs.row(last)) for last, row in enumerate(mixture_formula(task))))


@cache
def optimum_formula(task: str) -> Matrix:
    """Return the M that minimizes the training loss, without a constraint on its rank.

    This is for head_dim 2 or more, and ``N`` >= 2.
    """
    rows = [sympy.simplify(row.gram.LUsolve(row.cross)).T for row in mixture_formula(task)]
    return ImmutableMatrix(Matrix.vstack(*rows))


def optimum_error_formula(task: str) -> Expr:
    """Return the expected error of ``optimum_formula``, collected by powers of the length."""
    return sympy.collect(sympy.expand(error_formula(optimum_formula(task), task)), L, sympy.factor)


def is_zero(expression: Expr) -> bool:
    """Return True if an expression in the length or in l_train is 0 for all of them."""
    return sympy.simplify(sympy.expand(expression)) == 0
