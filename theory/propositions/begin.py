"""Beyond the paper: linear attention that also attends to a BOS.

With BOS a readout averages over l + 1 tokens, one of which is always BOS: its weight 1/(l + 1) determines the length.
This is the w = 1/(a + bk) that softmax attention without position encoding gives BOS, with a = b = 1. So the targets
that are exact at every length are those linear in 1/(l + 1): 1/(x + 1) makes the length task exact. Nothing makes the
sum task exact, and the mean no longer is.
"""

from typing import Any

import sympy
from sympy import Matrix, Rational

from theory.closed_forms.formulas import L, moments_formula
from theory.closed_forms.linear_attention import TARGETS
from theory.closed_forms.maps import FUNCTIONS, Map
from theory.closed_forms.optima import optimum
from theory.ledger import Entry, Finding, Proposition, Status, Step

ALPHA, BETA, GAMMA, LENGTH, ONES = sympy.symbols("alpha beta gamma l o")
MapCase = tuple[str, str, int]  # task, map, shift
CASES: list[MapCase] = [
    (task, outrep, shift)
    for task in TARGETS
    for outrep in FUNCTIONS
    for shift in (0, 1)
    if not (task != "length" and outrep in ("log", "rsqrt", "reciprocal", "rlog") and shift == 0)
]
EXACT_WITHOUT = {("mean", "identity", 0), ("mean", "identity", 1)}
EXACT_WITH = {("length", "reciprocal", 1)}


def _check_exact(bos: bool) -> Any:
    """Return a checker of the cases claimed to be exact at every length: those with the loss 0.

    In the other cases, the loss is above 0 already on the lengths 1 to 4.
    """

    def check(claim: set[MapCase]) -> Finding:
        if not claim <= set(CASES):
            return Finding(Status.FAILS, f"{sorted(claim - set(CASES))[0]} is no task and map with a shift of 0 or 1")
        for case in CASES:
            task, outrep, shift = case
            loss = optimum(task, 4, 2, outrep=outrep, shift=shift, bos=bos).loss
            exact = sympy.N(loss, 40, chop=True) < Rational(1, 10**30)
            if exact and optimum(task, 12, 2, outrep=outrep, shift=shift, bos=bos).loss != 0:
                raise ArithmeticError(f"{case}: exact to length 4, not to 12")
            if exact != (case in claim):
                return Finding(Status.FAILS, f"{task} under {outrep}, shift {shift}: the least loss is {loss}")
        return Finding(Status.HOLDS, "all maps, shifts 0 and 1: exact to length 12, the others not to length 4")

    return check


def _least_squares(claim: Any) -> Finding:
    """Check that the optimum for the length task reads ``claim``: the best line in 1/(l + 1), whatever the symbols."""
    for outrep in FUNCTIONS:
        for n in range(3, 6):
            outputs = optimum("length", n, 2, outrep=outrep, bos=True).outputs
            if (outputs - claim(outrep, n)).evalf(30).norm() > Rational(1, 10**25):
                return Finding(Status.FAILS, f"{outrep}, l_train = {n}")
    return Finding(Status.HOLDS, "compared for l_train = 3 to 5, for all n by the derivation")


def line_in_bos_weight(outrep: str, train_length: int) -> Matrix:
    """Return M of the least-squares line through (1/(l + 1), f(l)), l = 1..``train_length``.

    Its value at weight 0 is for symbols, at weight 1 for BOS.
    """
    chosen = Map.from_name(outrep, "length")
    lengths = range(1, train_length + 1)
    design = Matrix([[1 - Rational(1, length + 1), Rational(1, length + 1)] for length in lengths])
    targets = Matrix([chosen.forward(length) for length in lengths])
    symbol, bos = (design.T * design).inv() * design.T * targets
    return Matrix([[symbol, symbol, bos]] * 2)


def _derivation() -> list[Step]:
    g = (ALPHA + BETA * ONES + GAMMA * LENGTH) / (LENGTH + 1)
    return [
        Step(
            "With BOS the output, for either last symbol, is (alpha + beta o + gamma l)/(l + 1), o being the number of "
            "ones. A target of the length alone needs beta = 0; what is left is linear in 1/(l + 1):",
            "g",
            GAMMA + (ALPHA - GAMMA) / (LENGTH + 1),
            sympy.apart(g.subs(BETA, 0), LENGTH),
        ),
        Step(
            "so f(l) = 1/(l + 1), and what is affine in it, is exact: alpha = 1, beta = gamma = 0.",
            "g",
            1 / (LENGTH + 1),
            g.subs({ALPHA: 1, BETA: 0, GAMMA: 0}),
        ),
        Step(
            "For the sum task f(o) must not change with l: the derivative of g in l is 0 for all o only if beta = 0 "
            "and alpha = gamma, which leaves a constant. No map makes the sum exact.",
            r"(l + 1)^2 \frac{\partial g}{\partial l}",
            GAMMA - ALPHA - BETA * ONES,
            sympy.cancel(sympy.diff(g, LENGTH) * (LENGTH + 1) ** 2),
        ),
        Step(
            "For the mean o/l needs (l + 1) o = l (alpha + beta o + gamma l) for all l: the coefficient of o alone, 1, "
            "cannot vanish. The mean, exact without BOS, no longer is.",
            r"l (l + 1) \left(\tfrac{o}{l} - g\right)",
            sympy.expand(ONES * (LENGTH + 1) - LENGTH * (ALPHA + BETA * ONES + GAMMA * LENGTH)),
            sympy.expand(sympy.cancel((ONES / LENGTH - g) * LENGTH * (LENGTH + 1))),
        ),
        Step(
            "Whatever the target f(l): given l, the share own - other of all l + 1 tokens is 1/(l + 1), the weight "
            "of BOS, plus noise of mean 0. BOS takes its place without the noise, so the optimum gives "
            "both symbols the same entry and is the best line in 1/(l + 1).",
            r"\mathrm{E}[s_\mathrm{own} - s_\mathrm{other}]",
            1 / (L + 1),
            sympy.cancel(2 * (moments_formula("length")[0].cross.T * Matrix([1, -1]))[0] / (L + 1)),
        ),
    ]


PROPOSITION = Proposition(
    "Linear attention with BOS",
    "beyond the paper",
    [
        Entry(
            "E",
            "Without BOS only the mean is exact at every length, and only as it is, or shifted.",
            EXACT_WITHOUT,
            _check_exact(bos=False),
            tex=r"g = \frac{\beta o + \gamma l}{l}",
        ),
        Entry(
            "F",
            "With BOS only the length is, and only under 1/(x + 1).",
            EXACT_WITH,
            _check_exact(bos=True),
            tex=r"g = \frac{\alpha + \beta o + \gamma l}{l + 1}",
        ),
        Entry(
            "G",
            "With BOS the optimum of the length task under any map is the least-squares line of f(l) in 1/(l + 1).",
            line_in_bos_weight,
            _least_squares,
            tex=r"g = c_0 + \frac{c_1}{l + 1}",
        ),
    ],
    _derivation,
)
