"""The length task (paper, appendix B.1, part (a) of the proof of theorem 2, equations 13 to 15).

Stated: the optimum has all four entries of M equal, to Gamma = (l_train + 1)/2, and errs by (l_test - Gamma)^2. Found:
that is the global minimum for a head of dimension 1, though not for the reason given; from dimension 2 on it is not
even stationary. The fraction of symbols equal to the last one is larger in short prefixes. So it carries a little
information about the length, which the optimum uses.
"""

from itertools import product

import sympy
from sympy import Expr, Matrix

from theory.checkers import equals, error_of_least_loss, grows_as, least_loss, only_zero_of_error
from theory.closed_forms.formulas import (
    FREE,
    H,
    L,
    N,
    error_formula,
    loss_formula,
    mixture_formula,
    optimum_error_formula,
    optimum_formula,
)
from theory.ledger import Entry, Finding, ForHeads, Proposition, Status, Step

GAMMA = sympy.Symbol("Gamma")


def constant(value: Expr) -> Matrix:
    """Return the M with four equal entries."""
    return Matrix([[value, value], [value, value]])


def _stationary_of_one_length(claim: Matrix) -> Finding:
    """Check that, for any parameters of M, every stationary point of the error at one length is a zero.

    This is true where the error is convex in them. Otherwise points without a zero among their coordinates are tried,
    since the paper excludes those with one.
    """
    symbols = sorted(claim.free_symbols, key=str)
    convex = True
    for length in (1, 2):
        error = error_formula(claim, "length").subs(L, length)
        hessian = sympy.hessian(error, symbols)
        if not hessian.free_symbols and hessian.is_positive_semidefinite:
            continue
        convex = False
        slopes = [sympy.diff(error, symbol) for symbol in symbols]
        for values in product((1, -1, 2, -2), repeat=len(symbols)):
            at = dict(zip(symbols, values, strict=True))
            if all(slope.subs(at) == 0 for slope in slopes) and error.subs(at) != 0:
                point = ", ".join(f"{symbol} = {value}" for symbol, value in at.items())
                return Finding(Status.FAILS, f"l = {length}, {point}: no slope, and the error {error.subs(at)}")
    if convex:
        return Finding(Status.HOLDS)
    raise ArithmeticError(f"{claim}: neither convex nor stationary at a point that was tried")


def _root(claim: Expr) -> Finding:
    slope = sympy.diff(loss_formula(constant(GAMMA), "length"), GAMMA)
    return equals(sympy.solve(slope, GAMMA)[0], N)(claim)


def rank_one_gap() -> tuple[Expr, Expr, Expr]:
    """Return the terms of a proof for a head of dimension 1: (loss(w) - loss(0)) D(r) = r (a + b r).

    Here kappa = (1 + w, 1 - w), r = w^2, and D > 0 for n >= 2. The terms are the left side, a and b: a, b >= 0 proves
    that w = 0, the paper's point, is the global minimum.
    """
    w = sympy.Symbol("w", real=True)
    kappa = Matrix([1 + w, 1 - w])
    rows = mixture_formula("length")
    b = [(row.cross.T * kappa)[0] for row in rows]
    a = [(kappa.T * row.gram * kappa)[0] for row in rows]
    gain = sympy.Add(*(x**2 / y for x, y in zip(b, a, strict=True)))
    # At kappa = (1, 1) both a are 1/2, so D is 4 a0 a1, which is 1 there.
    gap = sympy.expand(sympy.cancel((gain.subs(w, 0) - gain) * 4 * a[0] * a[1]))
    in_r = sympy.Poly(gap, w)
    return gap, sympy.factor(in_r.coeff_monomial(w**2)), sympy.factor(in_r.coeff_monomial(w**4))


def _derivation() -> list[Step]:
    gap, first, second = rank_one_gap()
    w = sympy.Symbol("w", real=True)
    x = H * (N + 1) / N
    best = optimum_formula("length")
    own, other = best[0, 0], best[0, 1]
    return [
        Step(
            "At four equal entries Gamma the error is",
            r"\ell(g; l)",
            (GAMMA - L) ** 2,
            sympy.factor(error_formula(constant(GAMMA), "length")),
        ),
        Step(
            "and the loss is least, among such M, at",
            r"\Gamma",
            (N + 1) / 2,
            sympy.solve(sympy.diff(loss_formula(constant(GAMMA), "length"), GAMMA), GAMMA)[0],
        ),
        Step(
            "Head of dimension 1. Along kappa = (1 + w, 1 - w), each q at its best, the loss minus that at w = 0, "
            "times a positive factor, is",
            r"\text{gap}(w)",
            first * w**2 + second * w**4,
            gap,
        ),
        Step(
            "with, for x = H_n (n + 1)/n, coefficients that are not negative. The first is, since x grows from one n "
            "to the next by 1/(n + 1) at most and 4x - 6 <= n + 1 at n = 1, 2 and 3, so that 4 (x - 2 + 1/x) <= n + 1; "
            "the second since (n + 1)^2 >= 4n. So w = 0, the paper's point, is the global minimum.",
            r"a",
            (N + 1) * x / 4 - (x - 1) ** 2,
            first,
        ),
        Step("The second coefficient is", "b", (H / N) * (H * (N + 1) ** 2 / (4 * N) - 1), second),
        Step(
            "Head of dimension 2 or more. The normal equations of each row give the global minimum, with n/H_n for the "
            "symbols like the last one and more for the others:",
            "M",
            Matrix([[own, other], [other, own]]),
            best,
        ),
        Step(
            "Its entries' mean is what the output tends to as prefixes grow:",
            r"\lim_{l \to \infty} g",
            N * (N - 1) / (2 * (N - H)),
            (own + other) / 2,
        ),
        Step(
            "Its training loss is",
            r"\mathcal{L}",
            (N + 1) * (2 * N + 1) / 6 - (N + 3) * own / 4 - (N - 1) * other / 4,
            loss_formula(best, "length"),
        ),
        Step(
            "and its error at length l",
            r"\mathcal{E}(l)",
            (own**2 * (1 + 3 / L) + (2 * own * other + other**2) * (1 - 1 / L)) / 4
            - own * (L + 1)
            - other * (L - 1)
            + L**2,
            error_formula(best, "length"),
        ),
    ]


PROPOSITION = Proposition(
    "The length task",
    "appendix B.1, part (a), equations 13 to 15",
    [
        Entry(
            "13",
            "The error at one length l is 0 if and only if all four products are l.",
            constant(L),
            only_zero_of_error("length"),
            tex=r"\ell(g; l) = 0 \iff q'\kappa' = q''\kappa' = q'\kappa'' = q''\kappa'' = l",
        ),
        Entry(
            "13, after",
            "Every stationary point of the error at one length is such a zero.",
            Matrix(2, 2, [q * k for q in sympy.symbols("q0 q1") for k in sympy.symbols("kappa0 kappa1")]),
            _stationary_of_one_length,
            tex=r"\partial \ell(g; l) = 0 \implies \ell(g; l) = 0",
            corrected=FREE,
            mended="In M the error is convex and it is so. In q and kappa it has local minima above 0; this is one.",
            fault="stationary points of the error taken for its zeros",
        ),
        Entry(
            "13 -> 14",
            "So the optimum over all lengths has four equal products too.",
            ForHeads.all(constant((N + 1) / 2)),
            least_loss("length"),
            tex=r"\operatorname{arg\,min} \mathcal{L}(g; l_\mathrm{train}): \; q' = q'', \; \kappa' = \kappa''",
            corrected=ForHeads({1: constant((N + 1) / 2), 2: optimum_formula("length")}, least=2),
            mended="True for a head of dimension 1, though it does not follow: that the minimizers of all terms share "
            "a property does not give it to the minimizer of their sum. The derivation has a proof.",
        ),
        Entry(
            "14",
            "The slope of the loss along four equal entries Gamma.",
            2 * GAMMA - (N + 1),
            equals(sympy.diff(loss_formula(constant(GAMMA), "length"), GAMMA), N),
            left=r"\frac{2}{n} \sum_{l=1}^{n} (\Gamma - l)",
        ),
        Entry("14 -> 15", "The slope vanishes at", (N + 1) / 2, _root, left=r"\Gamma"),
        Entry(
            "15",
            "The error of four entries (n + 1)/2.",
            (L - (N + 1) / 2) ** 2,
            equals(error_formula(constant((N + 1) / 2), "length")),
            left=r"\ell(g^{n}; l)",
        ),
        Entry(
            "15, as the optimum's",
            "That is the error of the optimum.",
            ForHeads.all((L - (N + 1) / 2) ** 2),
            error_of_least_loss("length"),
            tex=r"\mathcal{E}_\mathrm{length}(g^{n}; l) = \left(l - \frac{n + 1}{2}\right)^2",
            corrected=ForHeads({1: (L - (N + 1) / 2) ** 2, 2: optimum_error_formula("length")}, least=2),
            mended="For a head of dimension 1; not from 2 on.",
        ),
        Entry(
            "15, order",
            "The error grows as the square of the length.",
            2,
            grows_as(error_formula(FREE, "length")),
            tex=r"\mathcal{E}_\mathrm{length} = \mathcal{O}(l^2)",
        ),
    ],
    _derivation,
)
