"""Beyond the paper: the length task of theorem 2 under OutRep, trained on f(l).

A readout without BOS knows the length only from the share of symbols like the last one, (1 + B)/l: a noisy 1/l that
vanishes as l grows. So whatever the map, the output tends to a constant, and the answer to a weighted mean of the
training lengths 2..n, taken through f. A mean through 1/x or 1/sqrt(x) lies below the plain one, so these maps make the
error of long sequences larger, and no map can bring the answer beyond n.
"""

from typing import Any

import sympy
from sympy import Expr, Rational

from theory.ledger import Entry, Proposition, Status, Step, Verdict
from theory.maps import FUNCTIONS, Map
from theory.optima import optimum

NAMES = tuple(FUNCTIONS)
TOLERANCE = Rational(1, 10**25)  # sums of logarithms and roots are compared to this, at 40 digits


def answer_at_infinity(outrep: str, train_length: int, task: str = "length") -> Expr:
    """The answer for ever longer prefixes of an optimum without BOS, head dimension 2 or more."""
    best = optimum(task, train_length, 2, outrep=outrep).rounded(40)
    return best.outrep.answer((best.outputs[0, 0] + best.outputs[0, 1]) / 2)


def mean_through(outrep: str, train_length: int) -> Expr:
    """The mean of the lengths 2..``train_length`` through f, with weights 1 - 1/l."""
    chosen = Map.of(outrep, "length")
    weights = {length: 1 - Rational(1, length) for length in range(2, train_length + 1)}
    total = sum(weight * chosen.forward(length) for length, weight in weights.items())
    return chosen.answer(sympy.N(total / sum(weights.values()), 40))


def _quasi_mean(claim: Any) -> Verdict:
    for outrep in NAMES:
        for n in range(2, 7):
            if abs(answer_at_infinity(outrep, n) - claim(outrep, n)) > TOLERANCE:
                return Verdict(Status.FAILS, f"{outrep}, l_train = {n}")
    return Verdict(Status.HOLDS)


def _none_helps(claim: tuple[str, ...]) -> Verdict:
    """Of the maps in ``claim`` none is said to bring the answer at infinity above the plain one."""
    for outrep in claim:
        for n in range(2, 21):
            if mean_through(outrep, n) > mean_through("identity", n) + TOLERANCE:
                return Verdict(Status.FAILS, f"{outrep}, l_train = {n}")
    return Verdict(Status.HOLDS)


def _within(claim: Expr) -> Verdict:
    """x^p: the answer at infinity, for p ever larger, is said to stay at or under ``claim`` x l_train."""
    n = 10
    weights = {length: 1 - Rational(1, length) for length in range(2, n + 1)}
    for p in (1, 2, 8, 64):
        total = sum(weight * Rational(length) ** p for length, weight in weights.items())
        answer = sympy.N((total / sum(weights.values())) ** Rational(1, p), 40)
        if answer > claim * n:
            return Verdict(Status.FAILS, f"x^{p}, l_train = {n}: {sympy.N(answer, 4)}")
    return Verdict(Status.HOLDS)


def _switch(claim: int) -> Verdict:
    """The least l_train at which the best M of rank one under 1/x tells symbols like the last one from the others."""
    for n in range(2, 21):
        outputs = optimum("length", n, 1, outrep="reciprocal").outputs
        if outputs[0, 1] != outputs[0, 0]:
            return Verdict(Status.HOLDS if n == claim else Status.FAILS, f"l_train = {n}")
    return Verdict(Status.FAILS, "not up to l_train = 20")


def _derivation() -> list[Step]:
    n = 3
    f2, f3, f1 = sympy.symbols("f(2) f(3) f(1)")
    from theory.linear_attention import mixture

    rows = mixture(lambda ones, length: {1: f1, 2: f2, 3: f3}[length], n)
    best = rows[0].gram.inv() * rows[0].cross
    weight = {2: Rational(1, 2), 3: Rational(2, 3)}
    return [
        Step(
            "The normal equations with any targets f(l), here for l_train = 3: the entries of a row, own and other, "
            "have as their mean, to which the output tends, the mean of f(2) and f(3) with the weights 1 - 1/l. (f(1) "
            "has none: a single symbol is its own last one.)",
            r"\lim_{l \to \infty} g",
            (weight[2] * f2 + weight[3] * f3) / sum(weight.values()),
            (best[0] + best[1]) / 2,
        ),
        Step(
            "The weight of the symbol's own share is",
            r"M_{00}",
            (f1 + f2 / 2 + f3 / 3) / sympy.harmonic(3),
            best[0],
        ),
    ]


PROPOSITION = Proposition(
    "OutRep in this model",
    "beyond the paper",
    [
        Entry(
            "A",
            "Without BOS the answer tends to the mean of the lengths 2..l_train through f, with weights 1 - 1/l.",
            mean_through,
            _quasi_mean,
            tex=r"\hat{y} \to f^{-1}\left(\frac{\sum_l (1 - 1/l) f(l)}{\sum_l (1 - 1/l)}\right)",
        ),
        Entry(
            "B",
            "So no map of the lab's helps with long sequences: each answers at most what the plain target answers.",
            NAMES,
            _none_helps,
            tex=r"f^{-1}(\overline{f}) \le \overline{l}",
        ),
        Entry(
            "C",
            "Convex maps answer more, but no map more than l_train, so every error grows as l^2.",
            sympy.Integer(1),
            _within,
            tex=r"f^{-1}(\overline{f}) \le l_\mathrm{train}",
        ),
        Entry(
            "D",
            "Head dimension 1 under 1/x: the optimum is constant for short training lengths; from this length on it "
            "contrasts symbols like the last one with the others.",
            14,
            _switch,
            tex=r"l_\mathrm{train} = 14",
        ),
    ],
    _derivation,
)
