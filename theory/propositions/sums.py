"""The sum task (paper, appendix B.1, part (b) of the proof of theorem 2, equations 16 to 20).

Stated: the optimum ignores zeros (kappa'' = 0) and multiplies the fraction of ones by Gamma = n (n + 3) / (2 (n +
H_n)), n = l_train. Found: that point is the best of those that ignore zeros and treat both last symbols alike, but not
stationary, neither for a head of dimension 1 nor beyond; and every error that follows from equation 17 is twice the
true one.
"""

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
    optimum_error_formula,
    optimum_formula,
)
from theory.ledger import Entry, Finding, ForHeads, Proposition, Status, Step

GAMMA = sympy.Symbol("Gamma")
CONST = sympy.Symbol("const")
ONES = sympy.Symbol("i", integer=True)
FACTOR = "a second moment of the number of ones printed twice too large"  # a fault, here and in (23)
OPTIMUM = "a property of every term's minima taken for one of their sum's"  # another
BEST = N * (N + 3) / (2 * (N + H))  # the paper's Gamma


def share_of_ones(gamma: Expr) -> Matrix:
    """Return the M whose output is gamma times the fraction of ones."""
    return Matrix([[0, gamma], [0, gamma]])


ERROR = error_formula(share_of_ones(GAMMA), "sum")
SLOPE = sympy.diff(loss_formula(share_of_ones(GAMMA), "sum"), GAMMA)


def _check_count(claim: Expr) -> Finding:
    """Check the claimed sum over the number of ones against the error, at each length."""
    for length in range(1, 13):
        summed = sum(claim.subs({L: length, ONES: ones}).doit() for ones in range(length + 1))
        if sympy.expand(summed - ERROR.subs(L, length)) != 0:
            return Finding(Status.FAILS, f"l = {length}")
    return Finding(Status.HOLDS)


def _check_limit(claim: Expr) -> Finding:
    """Check an approximation for long prefixes: its ratio to the error must tend to 1."""
    error = ERROR.subs(GAMMA, BEST)
    ratio = sympy.limit(sympy.cancel(claim.subs(CONST, 2 * H / N) / error), L, sympy.oo)
    if ratio == 1:
        return Finding(Status.HOLDS)
    return Finding(Status.FAILS, f"for every l_train; over the error it tends to {ratio} as l grows, not to 1")


def _check_constant(claim: Expr) -> Finding:
    """Check the constant for which (n + 3)/(2 + const) is Gamma; it must be one number for all l_train."""
    values = [claim.subs(N, n).doit() for n in range(1, 13)]
    needed = [sympy.solve((n + 3) / (2 + CONST) - BEST.subs(N, n).doit(), CONST)[0] for n in range(1, 13)]
    if values == needed:
        return Finding(Status.HOLDS)
    return Finding(
        Status.CONDITION,
        f"l_train much larger than ln l_train: it is 2 H_n / n, {needed[0]} at 1, {needed[1]} at 2, and tends to "
        f"{sympy.limit(2 * H / N, N, sympy.oo)}",
    )


def _root(claim: Expr) -> Finding:
    """Check the point where the derivative of the loss is 0."""
    return equals(sympy.solve(SLOPE, GAMMA)[0], N)(claim)


def _slope_along_kappa() -> Expr:
    loss = loss_formula(FREE, "sum")
    slope = sympy.diff(loss, FREE[0, 0]) + sympy.diff(loss, FREE[1, 0])
    return slope.subs(dict(zip(FREE, share_of_ones(BEST), strict=True)))


def _derivation() -> list[Step]:
    best = optimum_formula("sum")
    limit = N * (N - 1) / (2 * (N - H))
    return [
        Step(
            "Among the M that multiply the share of ones by Gamma: the number of ones is Bin(l, 1/2), with the second "
            "moment l (l + 1)/4, so that",
            r"\ell(g; l)",
            (L + 1) / (4 * L) * (GAMMA - L) ** 2,
            sympy.factor(ERROR),
        ),
        Step(
            "half of what (17) says. Averaged over lengths the slope is",
            r"\frac{\partial \mathcal{L}}{\partial \Gamma}",
            ((N + H) * GAMMA - N * (N + 3) / 2) / (2 * N),
            SLOPE,
        ),
        Step(
            "which vanishes where the paper says, since the factor does not matter:",
            r"\Gamma",
            BEST,
            sympy.solve(SLOPE, GAMMA)[0],
        ),
        Step(
            "But at that point the loss still has a slope: along kappa'', which moves M[0, 0] and M[1, 0] together and "
            "leaves the rank at one, it is negative for n >= 2.",
            r"\frac{\partial \mathcal{L}}{\partial M_{00}} + \frac{\partial \mathcal{L}}{\partial M_{10}}",
            (1 - H / N) * BEST / 2 - (N - 1) / 4,
            _slope_along_kappa(),
        ),
        Step(
            "Head of dimension 2 or more. The normal equations give the global minimum: a readout at 0 ignores zeros, "
            "one at 1 does not.",
            "M",
            Matrix([[0, limit], [limit - N / H, N / H]]),
            best,
        ),
        Step(
            "Its training loss is",
            r"\mathcal{L}",
            (N + 1) * (N + 2) / 12 - ((N - 1) * limit + (N + 7) * N / H + (N - 1) * (limit - N / H)) / 16,
            loss_formula(best, "sum"),
        ),
    ]


PROPOSITION = Proposition(
    "The sum task",
    "appendix B.1, part (b), equations 16 to 20",
    [
        Entry(
            "16",
            "The error at one length l is 0 if and only if kappa'' = 0 and the products with kappa' are l.",
            share_of_ones(L),
            only_zero_of_error("sum"),
            tex=r"\ell(g; l) = 0 \iff \kappa'' = 0, \; q'\kappa' = q''\kappa' = l",
        ),
        Entry(
            "16 -> 17",
            "So the optimum over all lengths has kappa'' = 0 and equal products with kappa' too.",
            ForHeads.all(share_of_ones(BEST)),
            least_loss("sum"),
            tex=r"\operatorname{arg\,min} \mathcal{L}(g; l_\mathrm{train}): \; \kappa'' = 0, \; q' = q''",
            corrected=ForHeads({2: optimum_formula("sum")}, least=2),
            mended="For head dimension 1 the direction kappa of the optimum is a root of a polynomial of degree 6, "
            "which theory.optimum isolates.",
            fault=OPTIMUM,
        ),
        Entry(
            "17, first",
            "The error as a sum over the number of ones.",
            sympy.binomial(L, ONES) * ONES**2 * (GAMMA - L) ** 2 / (2**L * L**2),
            _check_count,
            tex=r"\ell(g; l) = \frac{1}{2^l l^2} \sum_{i=0}^{l} i^2 C_l^i (\Gamma - l)^2",
        ),
        Entry(
            "17, second",
            "The same, summed:",
            (L + 1) / (2 * L) * (GAMMA - L) ** 2,
            equals(sympy.factor(ERROR)),
            left=r"\ell(g; l)",
            corrected=(L + 1) / (4 * L) * (GAMMA - L) ** 2,
            mended="The second moment of Bin(l, 1/2) is l (l + 1)/4.",
            fault=FACTOR,
        ),
        Entry(
            "18",
            "The slope of (17) in Gamma:",
            (L + 1) / L * (GAMMA - L),
            equals(sympy.factor(sympy.diff(ERROR, GAMMA))),
            left=r"\frac{\partial \ell(g; l)}{\partial \Gamma}",
            corrected=(L + 1) / (2 * L) * (GAMMA - L),
            mended="It follows from (17) as printed and inherits its factor.",
            consequence_of=(FACTOR,),
        ),
        Entry(
            "19",
            "The slope of the loss (a bracket behind the factor 1/l_train is missing in print; read with it):",
            ((N + H) * GAMMA - N * (N + 3) / 2) / N,
            equals(SLOPE, N),
            left=r"\frac{\partial \mathcal{L}}{\partial \Gamma}",
            corrected=((N + H) * GAMMA - N * (N + 3) / 2) / (2 * N),
            mended="The factor of (17) again.",
            consequence_of=(FACTOR,),
        ),
        Entry("19 -> 20", "The slope vanishes at", BEST, _root, left=r"\Gamma"),
        Entry(
            "20, first",
            "The error of that M:",
            (L + 1) / (2 * L) * (BEST - L) ** 2,
            equals(ERROR.subs(GAMMA, BEST)),
            left=r"\ell(g^{n}; l)",
            corrected=(L + 1) / (4 * L) * (BEST - L) ** 2,
            mended="The factor of (17) again.",
            consequence_of=(FACTOR,),
        ),
        Entry(
            "20, as the optimum's",
            "That is the error of the optimum.",
            ForHeads.all((L + 1) / (2 * L) * (BEST - L) ** 2),
            error_of_least_loss("sum"),
            tex=r"\mathcal{E}_\mathrm{sum}(g^{n}; l) = \frac{l + 1}{2 l} "
            r"\left(\frac{n (n + 3)}{2 (n + H_n)} - l\right)^2",
            corrected=ForHeads({2: optimum_error_formula("sum")}, least=2),
            mended="Neither the factor nor the point is right.",
            consequence_of=(OPTIMUM, FACTOR),
        ),
        Entry(
            "20, second",
            "For long prefixes the error is about",
            ((N + 3) / (2 + CONST) - L) ** 2 / 2,
            _check_limit,
            left=r"\mathcal{E}_\mathrm{sum}(g^{n}; l)",
            corrected=((N + 3) / (2 + CONST) - L) ** 2 / 4,
            mended="The factor of (17) again.",
            consequence_of=(FACTOR,),
        ),
        Entry(
            "20, const",
            "with a constant in place of a term that depends on l_train.",
            CONST,
            _check_constant,
            tex=r"\frac{n (n + 3)}{2 (n + H_n)} = \frac{n + 3}{2 + \mathrm{const}}",
            corrected=2 * H / N,
            mended="const = 2 H_n / n.",
        ),
        Entry(
            "20, order",
            "The error grows as the square of the length.",
            2,
            grows_as(error_formula(FREE, "sum")),
            tex=r"\mathcal{E}_\mathrm{sum} = \mathcal{O}(l^2)",
        ),
    ],
    _derivation,
)
