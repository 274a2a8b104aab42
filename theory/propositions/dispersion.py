"""Beyond the paper: how softmax weights fall with the number of keys, and by which factor they do not.

Veličković et al. (2024, arXiv 2410.01104): logits of a trained model are bounded, so each weight is of order 1/n.
Nakanishi (2025, arXiv 2501.19399) multiplies logits by s log n. With a gap g between the greatest logit and all others,
its weight then tends to 1 if s g > 1, to 1/2 if s g = 1, and still to 0 if s g < 1.
"""

from collections.abc import Callable
from itertools import product

import sympy
from sympy import Expr, Rational

from theory.ledger import Entry, Finding, Proposition, Status, Step

# The number of keys, the greatest ratio of exponentials of logits (e^D for a spread D), s log n's product s g.
KEYS, RATIO, PRODUCT = sympy.symbols("n r a", positive=True)
GREATEST = RATIO / (RATIO + KEYS - 1)
LEAST = 1 / (1 + (KEYS - 1) * KEYS**-PRODUCT)


def _bounds_all(claim: Callable[[Expr, Expr], Expr]) -> Finding:
    """Check that no softmax weight exceeds ``claim(n, r)``, and that no smaller multiple of 1/n would do.

    A weight is monotone in each exponential, so its extremes are at corners of [1, r]^n.
    """
    for n, ratio in product(range(2, 7), (Rational(3, 2), 2, 10)):
        greatest = max(max(x) / sympy.Integer(sum(x)) for x in product((1, ratio), repeat=n))
        if greatest > claim(sympy.Integer(n), sympy.sympify(ratio)):
            return Finding(Status.FAILS, f"n = {n}, r = {ratio}: a weight of {greatest}")
    if sympy.limit(KEYS * claim(KEYS, RATIO), KEYS, sympy.oo) != sympy.limit(KEYS * GREATEST, KEYS, sympy.oo):
        return Finding(Status.FAILS, "n times it has another limit than n times the greatest weight")
    return Finding(Status.HOLDS)


def _parts_limits(claim: Expr) -> Finding:
    """Check that the greatest weight, at its least, tends to 1, 1/2 or 0 as s g lies above, at or below ``claim``."""
    for n in (4, 9):
        far = [Rational(1, sympy.sqrt(n) ** power) for power in (3, 6)]  # s g = 3/2, and twice that
        least = min(1 / (1 + sum(x)) for x in product(far, repeat=n - 1))
        if least != LEAST.subs({KEYS: n, PRODUCT: Rational(3, 2)}):
            raise ArithmeticError(f"n = {n}: {least} is no corner with all others at the gap")
    for value, limit in ((claim + Rational(1, 4), 1), (claim, Rational(1, 2)), (claim - Rational(1, 4), 0)):
        found = sympy.limit(LEAST.subs(PRODUCT, value), KEYS, sympy.oo)
        if found != limit:
            return Finding(Status.FAILS, f"s g = {value}: the limit is {found}, not {limit}")
    return Finding(Status.HOLDS)


def _derivation() -> list[Step]:
    ratio_of_gap = KEYS**PRODUCT  # exp(s log n g) = n^(s g)
    return [
        Step(
            "The greatest of n weights is largest where all other exponentials are the least, 1, and it is r:",
            "w",
            GREATEST,
            1 / (1 + (KEYS - 1) / RATIO),
        ),
        Step(
            "It lies below r/n by a factor that tends to 1, so that the weight is of order 1/n for a fixed r:",
            r"\frac{r}{n} - w",
            RATIO * (RATIO - 1) / (KEYS * (RATIO + KEYS - 1)),
            RATIO / KEYS - GREATEST,
        ),
        Step(
            "With logits times s log n a gap g makes the ratio n^(s g), and the weight is least where all others are "
            "at the gap:",
            "w",
            LEAST,
            GREATEST.subs(RATIO, ratio_of_gap),
        ),
    ]


PROPOSITION = Proposition(
    "Softmax weights by length",
    "beyond the paper; Veličković et al., 2024, and Nakanishi, 2025",
    [
        Entry(
            "H",
            "Softmax over n keys whose logits differ by at most D gives no key more than e^D / n, and no smaller "
            "multiple of 1/n bounds all weights.",
            lambda n, ratio: ratio / n,
            _bounds_all,
            tex=r"w_i \le \frac{e^{D}}{n}",
        ),
        Entry(
            "I",
            "With logits multiplied by s log n and the others at least g below the greatest, its weight tends to 1 if "
            "s g > 1; at s g = 1 it may tend to 1/2, and below that to 0.",
            sympy.Integer(1),
            _parts_limits,
            tex=r"s g > 1 \implies w_{\max} \to 1",
        ),
    ],
    _derivation,
)
