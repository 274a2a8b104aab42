"""Beyond the paper: the length task of theorem 2 under OutRep, trained on f(l).

A readout without BOS has no information about the length but the fraction of symbols equal to the last one, (1 + B)/l:
a noisy 1/l that vanishes as l grows. So whatever the map, the output tends to a constant, and with a head of dimension
2 or more the answer to a weighted mean of the training lengths 2..n, taken through f. A mean through 1/x or 1/sqrt(x)
lies below the plain one, so these maps make the error of long sequences larger, and no map can bring the answer beyond
n. A head of dimension 1 can do other things, as statement D shows.
"""

from typing import Any

import sympy
from sympy import Expr, Matrix, Rational

from theory.closed_forms.formulas import H, N, mixture_formula
from theory.closed_forms.linear_attention import mixture
from theory.closed_forms.maps import FUNCTIONS, Map
from theory.closed_forms.optima import optimum
from theory.ledger import Entry, Finding, Proposition, Status, Step

NAMES = tuple(FUNCTIONS)
TOLERANCE = Rational(1, 10**25)  # sums of logarithms and roots are compared up to this, at 40 digits


def answer_at_infinity(outrep: str, train_length: int, task: str = "length") -> Expr:
    """Return the prediction for ever longer prefixes of an optimum without BOS, head dimension 2 or more."""
    best = optimum(task, train_length, 2, outrep=outrep).to_decimals(40)
    return best.outrep.answer((best.outputs[0, 0] + best.outputs[0, 1]) / 2)


def mean_through(outrep: str, train_length: int) -> Expr:
    """Return the mean of the lengths 2..``train_length`` through f, with weights 1 - 1/l."""
    chosen = Map.from_name(outrep, "length")
    weights = {length: 1 - Rational(1, length) for length in range(2, train_length + 1)}
    total = sum(weight * chosen.forward(length) for length, weight in weights.items())
    return chosen.answer(sympy.N(total / sum(weights.values()), 40))


def _quasi_mean(claim: Any) -> Finding:
    for outrep in NAMES:
        for n in range(2, 7):
            if abs(answer_at_infinity(outrep, n) - claim(outrep, n)) > TOLERANCE:
                return Finding(Status.FAILS, f"{outrep}, l_train = {n}")
    return Finding(Status.HOLDS, "compared for l_train = 2 to 6, for all n by the derivation")


def _check_none_helps(claim: tuple[str, ...]) -> Finding:
    """Check that no map in ``claim`` brings the prediction at infinity above the plain one."""
    for outrep in claim:
        for n in range(2, 21):
            if mean_through(outrep, n) > mean_through("identity", n) + TOLERANCE:
                return Finding(Status.FAILS, f"{outrep}, l_train = {n}")
    return Finding(Status.HOLDS, "compared for l_train = 2 to 20, for all n by the derivation")


def _check_within(claim: Expr) -> Finding:
    """Check that the prediction at infinity is at most ``claim`` x l_train for all maps.

    A mean of 2..n, through whatever monotone f, is at most n; and x^p comes as near to n as you like: the mean of the
    l^p is at least the last one's share, so the prediction is at least n share^(1/p).
    """
    n = 10
    if claim >= 1:
        return Finding(Status.HOLDS, "a mean is at most the greatest of what it is taken of")
    weights = [1 - Rational(1, length) for length in range(2, n + 1)]
    share = weights[-1] / sum(weights)
    p = 1
    while sympy.N(n * share ** Rational(1, p), 30) <= claim * n:
        p *= 2
    return Finding(Status.FAILS, f"x^{p}, l_train = {n}: at least {sympy.N(n * share ** Rational(1, p), 6)}")


def _switch(claim: int) -> Finding:
    """Check the least l_train at which the best M of rank one under 1/x distinguishes symbols by the last one.

    It must do so from there on, up to 20.
    """
    contrasts = [n for n in range(2, 21) if len(set(optimum("length", n, 1, outrep="reciprocal").outputs)) > 1]
    if contrasts == list(range(claim, 21)):
        return Finding(Status.HOLDS, "compared for l_train = 2 to 20")
    return Finding(Status.FAILS, f"l_train = {contrasts[0]}")


def _derivation() -> list[Step]:
    own, other, f1, f2, f3 = sympy.symbols("own other f(1) f(2) f(3)")
    targets = {1: f1, 2: f2, 3: f3}
    row = mixture(lambda ones, length: targets[length], 3)[0]
    best = row.gram.inv() * row.cross
    weights = {2: Rational(1, 2), 3: Rational(2, 3)}
    gram = mixture_formula("length")[0].gram
    equations = gram * Matrix([own, other])
    x = sympy.Symbol("x", positive=True)
    return [
        Step(
            "The second normal equation of a row, own being the entry for symbols like the last one, says for "
            "any targets "
            "f(l) that (1 - H_n/n)(own + other)/8 is the mean over l of f(l) (1 - 1/l)/4. So (own + other)/2, to which "
            "the output tends, is the mean of f over 2..n with the weights 1 - 1/l.",
            r"(G m)_\mathrm{other}",
            (1 - H / N) * (own + other) / 8,
            equations[1],
        ),
        Step(
            "For l_train = 3, that is",
            r"\lim_{l \to \infty} g",
            (weights[2] * f2 + weights[3] * f3) / sum(weights.values()),
            (best[0] + best[1]) / 2,
        ),
        Step(
            "The difference of the two equations gives own as the sum of f(l)/l over H_n.",
            r"(G m)_\mathrm{own} - (G m)_\mathrm{other}",
            H * own / (2 * N),
            equations[0] - equations[1],
        ),
        Step(
            "By Jensen a mean through f lies below the plain one where f increases and is concave (sqrt, log), "
            "and where "
            "it decreases and is convex (1/sqrt, 1/x, 1/log(x + 1)). For the last one the second derivative, positive, "
            "is",
            r"f''(x)",
            (2 + sympy.log(x + 1)) / ((x + 1) ** 2 * sympy.log(x + 1) ** 3),
            sympy.diff(1 / sympy.log(x + 1), x, 2),
        ),
    ]


PROPOSITION = Proposition(
    "OutRep in this model",
    "beyond the paper",
    [
        Entry(
            "A",
            "Without BOS, head dimension 2 or more, the answer tends to the mean of the lengths 2..l_train "
            "through f, with "
            "weights 1 - 1/l.",
            mean_through,
            _quasi_mean,
            tex=r"\hat{y} \to f^{-1}\left(\frac{\sum_l (1 - 1/l) f(l)}{\sum_l (1 - 1/l)}\right)",
        ),
        Entry(
            "B",
            "So no map of the lab's helps such a head with long sequences: each answers at most what the plain "
            "target answers.",
            NAMES,
            _check_none_helps,
            tex=r"f^{-1}(\overline{f}) \le \overline{l}",
        ),
        Entry(
            "C",
            "Other maps, such as x^2, answer more, but none more than l_train; so the error over l^2 still tends to 1.",
            sympy.Integer(1),
            _check_within,
            tex=r"f^{-1}(\overline{f}) \le l_\mathrm{train}",
        ),
        Entry(
            "D",
            "Head dimension 1 under 1/x: the optimum is constant for short training lengths; from this length on it "
            "contrasts symbols like the last one with the others, and its output tends to 0, the answer to infinity.",
            14,
            _switch,
            tex=r"l_\mathrm{train} = 14",
        ),
    ],
    _derivation,
)
