"""What theorem 1 (paper, appendix B.2) is held against: its constants, languages that violate it, and its inequalities.

Norms are Frobenius norms where they are computed, squared, so that they stay rational; they bound operator norms.
"""

from collections.abc import Callable
from itertools import permutations, product
from typing import NamedTuple

import sympy
from sympy import Expr, Matrix, Rational

from theory.formulas import N, is_zero
from theory.ledger import Status, Verdict

K, LT, RHO = sympy.symbols("k l_test rho", positive=True)
P = sympy.Symbol("p", positive=True)  # the output's entry at the target token


class Constants(NamedTuple):
    """C1, C2 and C0 of (29): the first two as functions of rho, the third as one of rho and the two weight matrices
    A = W^Q W^K' and B = W^V W."""

    misalign: Callable[[Expr], Expr]
    train: Callable[[Expr], Expr]
    rest: Callable[[Expr, Matrix, Matrix], Expr]


def norm(matrix: Matrix) -> Expr:
    """The squared Frobenius norm, which bounds the squared operator norm."""
    return sum(entry**2 for entry in matrix)


PRINTED = Constants(lambda r: r**2, lambda r: r**2 + 1, lambda r, a, b: (1 + norm(a * b)) * r**2)
CORRECTED = Constants(lambda r: 5 * r**2, lambda r: 5 * (r**2 + 1), lambda r, a, b: 5 * (1 + norm(a) * norm(b)) * r**2)


def triangle(terms: int) -> Callable[[int], Verdict]:
    """||a_1 + ... + a_m||^2 <= c (||a_1||^2 + ... + ||a_m||^2) for all vectors: c I minus the matrix of ones must have
    no negative eigenvalue. With a negative one, equal vectors are a counterexample."""

    def judge(c: int) -> Verdict:
        form = c * sympy.eye(terms) - sympy.ones(terms)
        if form.is_positive_semidefinite:
            return Verdict(Status.HOLDS)
        return Verdict(
            Status.FAILS,
            f"{terms} equal terms of norm 1: {terms**2}, not at most {c * terms}",
        )

    return judge


def _weights() -> list[Matrix]:
    return [Matrix(2, 2, entries) for entries in product((-1, 0, 1), repeat=4)]


def pulled_out(claim: Callable[[Matrix, Matrix], Expr]) -> Verdict:
    """||x A G B||^2 <= claim(A, B) ||G||^2 for a token x of norm 1 and the gram matrix G of tokens of norm 1: tried on
    all A, B with entries -1, 0, 1 and small G. The mended claim is the submultiplicativity of the norm."""
    x = Matrix([[1, 0]])
    unit = [Matrix([[1, 0]]), Matrix([[0, 1]]), Matrix([[Rational(3, 5), Rational(4, 5)]])]
    for g in (token.T * token for token in unit):
        for a, b in product(_weights()[::4], _weights()[::4]):
            if norm(x * a * g * b) > claim(a, b) * norm(g):
                return Verdict(
                    Status.FAILS,
                    f"W^Q W^K' = {a.tolist()}, W^V W = {b.tolist()}, G = {g.tolist()}, x = {x.tolist()}: "
                    f"{norm(x * a * g * b)}, not at most {claim(a, b) * norm(g)}",
                )
    return Verdict(Status.HOLDS)


def gram_norm(claim: Callable[[int], Expr]) -> Verdict:
    """The gram matrix of k tokens of norm 1 has norm at most ``claim(k)``: each token adds a matrix of norm 1."""
    unit = [Matrix([[1, 0]]), Matrix([[0, 1]]), Matrix([[Rational(3, 5), Rational(4, 5)]])]
    for k in range(1, 5):
        for tokens in product(unit, repeat=k):
            stacked = Matrix.vstack(*tokens)
            if norm(stacked.T * stacked) > claim(k) ** 2:
                return Verdict(Status.FAILS, f"k = {k} equal tokens")
    return Verdict(Status.HOLDS)


def normalized(claim: str) -> Verdict:
    """Whether the outputs of (25) have norm 1, or only need none."""
    outputs = {
        scale: norm(Matrix([[scale, 0]])) for scale in (1, 2)
    }  # one token, W^V W scaled: nothing in (25) divides
    if claim == "outputs" and len(set(outputs.values())) > 1:
        return Verdict(Status.FAILS, f"one token, W^V W = 2: the output has the squared norm {outputs[2]}")
    return Verdict(Status.HOLDS)


def loss_differs_by_constant(claim: Expr) -> Verdict:
    """For output and target of norm 1, ||g - y||^2 = 2 - 2 p; what differs from it by a constant has its slope in p."""
    if is_zero(sympy.diff(claim - (2 - 2 * P), P)):
        return Verdict(Status.HOLDS)
    at = [sympy.simplify(claim - (2 - 2 * P)).subs(P, value) for value in (1, Rational(1, 2))]
    return Verdict(Status.FAILS, f"the difference is {at[0]} at p = 1 and {at[1]} at p = 1/2")


def none_for_equal(claim: str) -> Verdict:
    """Symmetric cross-entropy, or its excess over the entropies, of an output (p, 1 - p) with itself: is it 0?"""
    entropy = -P * sympy.log(P) - (1 - P) * sympy.log(1 - P)
    value = 2 * entropy - (2 * entropy if claim == "excess" else 0)
    if is_zero(value):
        return Verdict(Status.HOLDS)
    return Verdict(Status.FAILS, f"two outputs (1/2, 1/2): {sympy.simplify(value.subs(P, Rational(1, 2)))}")


def truncation(claim: tuple[str, ...]) -> Verdict:
    """Pr(next symbol | last two) = Pr(next symbol | last one), for languages of two symbols made by a hidden Markov
    chain of two states, exactly; ``claim`` names the languages for which it is said to hold."""
    half, third = Rational(1, 2), Rational(1, 3)
    sticky = Matrix([[1 - third, third], [third, 1 - third]])
    languages = {
        "independent symbols": (Matrix([[half, half], [half, half]]), sympy.eye(2)),
        "a Markov chain": (sticky, sympy.eye(2)),
        "a hidden Markov chain": (sticky, Matrix([[1 - third, third], [third, 1 - third]])),
    }
    for name in claim:
        transition, emission = languages[name]

        def probability(x: tuple[int, ...], transition: Matrix = transition, emission: Matrix = emission) -> Expr:
            state = Matrix([[half, half]])
            for i, symbol in enumerate(x):
                state = (state * transition if i else state) * sympy.diag(*emission[:, symbol])
            return sum(state)

        for last, before in product((0, 1), repeat=2):
            short = probability((last, 1)) / probability((last,))
            long = probability((before, last, 1)) / probability((before, last))
            if short != long:
                return Verdict(
                    Status.CONDITION,
                    f"the target is the token that does follow, or one whose distribution the shortest window decides. "
                    f"{name[0].upper() + name[1:]}: Pr(1 | {last}) = {short}, Pr(1 | {before}{last}) = {long}",
                )
    return Verdict(Status.HOLDS)


def coupling(claim: str) -> Verdict:
    """l and l - l' both uniform on l_train/2..l_train, with l' of either sign or not negative: the extreme joint
    distributions are permutations (Birkhoff), here for l_train = 4."""
    lengths = (2, 3, 4)
    allowed = [
        order
        for order in permutations(lengths)
        if claim == "either sign" or all(short <= length for length, short in zip(lengths, order, strict=True))
    ]
    if allowed == [lengths]:
        return Verdict(Status.FAILS, "l_train = 4: equal distributions and l' >= 0 leave l' = 0 alone")
    return Verdict(Status.HOLDS)


class Instance(NamedTuple):
    """A language whose last two tokens are e2 and all earlier ones e1, with the target e2 and l_train = 2; and a model
    that answers ``near`` x e2 from the near tokens, ``far`` x e2 from the far ones."""

    name: str
    near: int
    far: int

    def error_and_bound(self, constants: Constants, test_length: int) -> tuple[Expr, Expr]:
        """E_gen at ``test_length`` and what bounds it, exact."""
        a, b = Matrix([[0, 0], [1, int(self.near != 0)]]), Matrix([[0, self.far], [0, self.near]])
        e1, e2 = Matrix([[1, 0]]), Matrix([[0, 1]])

        def output(length: int) -> Matrix:
            tokens = Matrix.vstack(*[e1] * (length - 2), *[e2] * min(length, 2))
            return e2 * a * tokens.T * tokens * b / length

        def error(length: int) -> Expr:
            return norm(output(length) - e2)

        windows = (1, 2)
        train = sum(error(length) for length in windows) / 2
        misalign = sum(norm(output(one) - output(other)) for one, other in product(windows, repeat=2)) / 4
        rho = 1 - Rational(2, 2 * test_length)
        bound = constants.misalign(rho) * misalign + constants.train(rho) * train + constants.rest(rho, a, b)
        return error(test_length), bound


INSTANCES = [
    Instance("right in training, the opposite from far tokens", 1, -1),
    Instance("silent in training, wrong from far tokens", 0, -4),
]


def bound(claim: Constants) -> Verdict:
    for instance, test_length in product(INSTANCES, range(3, 41)):
        error, bound = instance.error_and_bound(claim, test_length)
        if error > bound:
            return Verdict(
                Status.FAILS,
                f"l_train = 2, l_test = {test_length}, a model that is {instance.name}: the error is {error}, the "
                f"bound {bound}",
            )
    # Beyond the instances: the five-term inequality, for the vectors of the derivation's second step.
    a, b = sympy.eye(2), sympy.eye(2)
    factors = [
        claim.misalign(RHO) / RHO**2,
        claim.train(RHO) / (RHO**2 + 1),
        claim.rest(RHO, a, b) / (RHO**2 * (1 + norm(a) * norm(b))),
    ]
    return triangle(5)(min(sympy.cancel(factor) for factor in factors))


def grows(claim: Expr) -> Verdict:
    """C1/C2 as a function of rho grows with l_test: rho does, and the ratio with rho."""
    slope = sympy.factor(sympy.diff(claim, RHO))
    growing = sympy.diff(1 - N / (2 * LT), LT).is_positive
    if growing and slope.is_positive:
        return Verdict(
            Status.HOLDS, f"from {claim.subs(RHO, Rational(1, 2))} at l_train to less than {claim.subs(RHO, 1)}"
        )
    return Verdict(Status.FAILS, "the slope is not positive")


def at_most_l(claim: Expr) -> Verdict:
    """k = l_test - l <= claim for every l in l_train/2..l_train."""
    slack = sympy.expand(claim - (LT - N / 2))
    return Verdict(Status.HOLDS) if slack.is_nonnegative else Verdict(Status.FAILS, "l = l_train/2")
