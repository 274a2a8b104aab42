"""The mean task (paper, appendix B.1, part (c) of the proof of theorem 2, equations 21 to 24).

Stated: the fraction of ones is the mean, so one M is exact at every length, for any training length; near that M the
errors stay bounded. Found: this holds, up to a factor 2 in equation 23 and misprints; and no M at all has an unbounded
error.
"""

import sympy
from sympy import Expr, Matrix

from theory.checkers import equals, error_of_least_loss, grows_as, least_loss, only_zero_of_error
from theory.closed_forms.formulas import FREE, L, error_formula, moments_formula, optimum_formula
from theory.ledger import Entry, Finding, ForHeads, Proposition, Status, Step, write_plain
from theory.propositions.sums import FACTOR

EPSILON = sympy.Symbol("varepsilon", real=True)
EXACT = Matrix([[0, 1], [0, 1]])
NEAR = Matrix([[0, 1 + EPSILON], [0, 1 + EPSILON]])


def _check_perturbed(claim: Matrix) -> Finding:
    """Check q kappa in (23), as a matrix, against kappa'' = 0 of (21): the first column must vanish."""
    if claim[:, 0].is_zero_matrix:
        return Finding(Status.HOLDS)
    return Finding(Status.FAILS, f"kappa'' = 0 makes q'' kappa'' = 0, not {write_plain(claim[1, 0] or claim[0, 0])}")


def _at_most_square(claim: Expr) -> Finding:
    """Check ``claim`` <= epsilon^2 for all l >= 1: with l = 1 + s no coefficient of the difference is negative."""
    s = sympy.Symbol("s", nonnegative=True)
    numerator, denominator = sympy.fraction(sympy.cancel((1 - claim / EPSILON**2).subs(L, 1 + s)))
    parts = [sympy.Poly(part, s).all_coeffs() for part in (numerator, denominator)]
    if all(coefficient >= 0 for part in parts for coefficient in part):
        return Finding(Status.HOLDS)
    over = next(length for length in range(1, 13) if (claim / EPSILON**2).subs(L, length) > 1)
    return Finding(Status.FAILS, f"l = {over}: {claim.subs(L, over)} is more than epsilon^2")


def _derivation() -> list[Step]:
    delta = FREE - EXACT
    rows = moments_formula("mean")
    return [
        Step(
            "The share of ones is the mean of the symbols, so this M is exact at every length:",
            r"\ell(g; l)",
            sympy.Integer(0),
            error_formula(EXACT, "mean"),
        ),
        Step("The normal equations have no other solution for n >= 2:", "M", EXACT, optimum_formula("mean")),
        Step(
            "With 1 + epsilon in place of 1 the error is that of epsilon times the share of ones:",
            r"\ell(g; l)",
            (L + 1) * EPSILON**2 / (4 * L),
            error_formula(NEAR, "mean"),
        ),
        Step(
            "For any M the output is an average of the entries of a row, so the error is that of the same average of "
            "its distances D from the exact M, at most the largest of them squared, at every length:",
            r"\ell(g; l)",
            sympy.expand(sum((delta.row(k) * rows[k].gram * delta.row(k).T)[0] for k in (0, 1))),
            error_formula(FREE, "mean"),
        ),
    ]


PROPOSITION = Proposition(
    "The mean task",
    "appendix B.1, part (c), equations 21 to 24",
    [
        Entry(
            "21",
            "The error at one length l is 0 if and only if kappa'' = 0 and the products with kappa' are 1.",
            EXACT,
            only_zero_of_error("mean"),
            tex=r"\ell(g; l) = 0 \iff \kappa'' = 0, \; q'\kappa' = q''\kappa' = 1",
        ),
        Entry(
            "21 -> 22",
            "This does not depend on l, so it is the optimum over all lengths, with the loss 0.",
            ForHeads.all(EXACT),
            least_loss("mean"),
            tex=r"\min \mathcal{L}(g; l_\mathrm{train}) = 0",
        ),
        Entry(
            "22",
            "Its error is 0 at every length (printed with the label of the sum task).",
            ForHeads.all(sympy.Integer(0)),
            error_of_least_loss("mean"),
            tex=r"\mathcal{E}_\mathrm{mean}(g^{n}; l) = 0",
        ),
        Entry(
            "23, where",
            "Near the optimum: which products are 1 + epsilon.",
            Matrix([[1 + EPSILON, 0], [0, 1 + EPSILON]]),
            _check_perturbed,
            tex=r"q'\kappa' = q''\kappa'' = 1 + \varepsilon",
            corrected=NEAR,
            mended="Read q' kappa' = q'' kappa' = 1 + epsilon, from which (23) follows but for its factor.",
            otherwise=Status.SLIP,
        ),
        Entry(
            "23",
            "The error there:",
            (L + 1) * EPSILON**2 / (2 * L),
            equals(error_formula(NEAR, "mean")),
            left=r"\ell(g^{n}; l)",
            corrected=(L + 1) * EPSILON**2 / (4 * L),
            mended="The second moment of Bin(l, 1/2) is l (l + 1)/4, as in (17).",
            fault=FACTOR,
        ),
        Entry(
            "23, bound",
            "It is at most epsilon^2.",
            (L + 1) * EPSILON**2 / (2 * L),
            _at_most_square,
            tex=r"\frac{(l + 1) \varepsilon^2}{2 l} \le \varepsilon^2",
        ),
        Entry(
            "24",
            "The error stays bounded as the length grows (printed with the label of the sum task).",
            0,
            grows_as(error_formula(FREE, "mean")),
            tex=r"\mathcal{E}_\mathrm{mean} = \mathcal{O}(1)",
        ),
    ],
    _derivation,
)
