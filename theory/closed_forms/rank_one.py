"""The global minimum of a loss over rank-one M, proven: a head of dimension 1, where q and kappa are scalars.

M[a, b] = q_a kappa_b. For a fixed direction kappa, each q_a solves a least-squares problem of its own. This leaves
a function of the direction alone:

    loss(kappa) = sum_a square_a - b_a(kappa)^2 / A_a(kappa),   b_a = cross_a . kappa,   A_a = kappa gram_a kappa.

With kappa = (1, t) it is a rational function of t, and its stationary points are the real roots of a polynomial of
degree 6 at most; kappa = (0, 1) is the limit t -> infinity. All of them are isolated, the loss at each is an algebraic
number, and algebraic numbers are compared exactly: the result is the global minimum, not the best of several starts.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sympy
from mpmath import iv
from sympy import QQ, CRootOf, Expr, Matrix, Poly

from theory.closed_forms.linear_attention import Moments

T, V = sympy.symbols("t loss")
DIGITS = 40  # precision of the first enclosures of roots; they shrink until they separate the numbers


class Minimum(NamedTuple):
    """A minimizer and the loss there. Entries and loss are rational, or polynomials in one real algebraic number."""

    outputs: Matrix
    loss: Expr


class Root(NamedTuple):
    """A real algebraic number: the ``place``-th smallest real root of an irreducible primitive polynomial."""

    polynomial: Poly
    place: int

    @classmethod
    def all(cls, polynomial: Poly) -> "list[Root]":
        """Return the real roots of ``polynomial``, each once."""
        factors = [Poly(factor, polynomial.gen, domain=QQ).primitive()[1] for factor, _ in polynomial.factor_list()[1]]
        return [cls(factor, place) for factor in factors for place in range(factor.count_roots())]

    def enclosure(self, digits: int) -> Any:
        """Return an interval of width about 10^-``digits`` that contains the number."""
        iv.dps = digits + 10
        (low, high), _ = self.polynomial.intervals(eps=sympy.Rational(1, 10**digits))[self.place]
        return iv.mpf([_interval(low).a, _interval(high).b])

    @property
    def number(self) -> Expr:
        """The number: rational, or sympy's root of the polynomial."""
        if self.polynomial.degree() == 1:
            return -self.polynomial.coeff_monomial(1) / self.polynomial.LC()
        return CRootOf(self.polynomial, self.place, radicals=False)


def minima(rows: Sequence[Moments]) -> list[Minimum]:
    """Return all global minimizers among the M of rank one or less.

    The rows must have rational moments and positive definite gram matrices. Raises ArithmeticError if there are
    infinitely many: the loss is then constant.
    """
    kappa = Matrix([1, T])
    (b0, a0), (b1, a1) = (((row.cross.T * kappa)[0], (kappa.T * row.gram * kappa)[0]) for row in rows)
    squares = sum(row.square for row in rows)
    numerator = Poly(squares * a0 * a1 - b0**2 * a1 - b1**2 * a0, T, domain=QQ)
    denominator = Poly(a0 * a1, T, domain=QQ)
    at_infinity = squares - sum(row.cross[1] ** 2 / row.gram[1, 1] for row in rows)
    points: list[Root | None] = [None]
    losses = [Root.all(Poly(V - at_infinity, V, domain=QQ))[0]]
    stationary = numerator.diff() * denominator - numerator * denominator.diff()
    if stationary.is_zero:
        raise ArithmeticError("the loss is the same in every direction: there is no least of finitely many")
    for point in Root.all(stationary):
        points.append(point)
        losses.append(_value(numerator, denominator, point))
    least = losses[0]
    for loss in losses[1:]:
        least = _find_lesser(least, loss)
    return [
        Minimum(_outputs(rows, point), loss.number) for point, loss in zip(points, losses, strict=True) if loss == least
    ]


def _value(numerator: Poly, denominator: Poly, at: Root) -> Root:
    """Return numerator / denominator at an algebraic number.

    It is the root of a resultant, distinguished from the resultant's other roots by enclosures that shrink until one is
    left.
    """
    equation = Poly(V * denominator.as_expr() - numerator.as_expr(), T, V)
    resultant = sympy.resultant(Poly(at.polynomial.as_expr(), T, V), equation, T)
    candidates = Root.all(Poly(resultant.as_expr(), V, domain=QQ))
    digits = DIGITS
    while len(candidates) > 1:
        t = at.enclosure(digits)
        value = _horner(numerator, t) / _horner(denominator, t)
        candidates = [root for root in candidates if _overlap(root.enclosure(digits), value)]
        digits *= 2
    return candidates[0]


def _find_lesser(one: Root, other: Root) -> Root:
    digits = DIGITS
    while one != other:
        first, second = one.enclosure(digits), other.enclosure(digits)
        if not _overlap(first, second):
            return one if first.b < second.a else other
        digits *= 2
    return one


def _overlap(one: Any, other: Any) -> bool:
    return one.a <= other.b and other.a <= one.b


def _horner(polynomial: Poly, at: Any) -> Any:
    total = iv.mpf(0)
    for coefficient in polynomial.all_coeffs():
        total = total * at + _interval(coefficient)
    return total


def _interval(rational: Expr) -> Any:
    return iv.mpf(int(rational.p)) / iv.mpf(int(rational.q))


def _outputs(rows: Sequence[Moments], point: Root | None) -> Matrix:
    """Return M at the direction kappa = (1, t), or (0, 1): the least squares of each row."""
    if point is None:
        return Matrix([[0, row.cross[1] / row.gram[1, 1]] for row in rows])
    kappa = Matrix([1, T])
    q = [(row.cross.T * kappa)[0] / (kappa.T * row.gram * kappa)[0] for row in rows]
    entries = Matrix([[each, each * T] for each in q])
    return entries.applyfunc(lambda entry: _reduce_in_field(entry, point.polynomial).as_expr().subs(T, point.number))


def _reduce_in_field(fraction: Expr, modulus: Poly) -> Poly:
    """Return a rational function of ``T`` as a polynomial of least degree modulo ``modulus``."""
    modulus = Poly(modulus.as_expr(), T, domain=QQ)
    numerator, denominator = (Poly(part, T, domain=QQ) for part in sympy.fraction(sympy.together(fraction)))
    return (numerator * denominator.rem(modulus).invert(modulus)).rem(modulus)


def reduce(expression: Expr) -> Expr:
    """Return a polynomial in one real algebraic number, in its least degree; without such numbers, expand it."""
    roots = expression.atoms(CRootOf)
    if not roots:
        return sympy.expand(expression)
    (root,) = roots
    modulus = root.poly.as_expr().subs(root.poly.gen, T)
    return _reduce_in_field(expression.subs(root, T), Poly(modulus, T)).as_expr().subs(T, root)
