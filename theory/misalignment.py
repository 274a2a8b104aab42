"""Checkers for theorem 1 (paper, appendix B.2): its constants, languages that violate it, and its inequalities.

Norms are computed as squared Frobenius norms, which are rational and bound the operator norms.
"""

from collections.abc import Callable
from itertools import permutations, product
from typing import NamedTuple

import sympy
from sympy import Expr, Matrix, Rational

from theory.closed_forms.formulas import N, is_zero
from theory.ledger import Finding, Status

K, LT, RHO = sympy.symbols("k l_test rho", positive=True)
P, Q = sympy.symbols("p q", positive=True)  # the first entries of two outputs over two tokens
E1, E2 = Matrix([[1, 0, 0]]), Matrix([[0, 1, 0]])  # two of three one-hot tokens
UNIT = [Matrix([[1, 0]]), Matrix([[0, 1]]), Matrix([[Rational(3, 5), Rational(4, 5)]])]  # tokens of norm 1
WEIGHTS = [Matrix(2, 2, entries) for entries in product((-1, 0, 1), repeat=4)][::4]


class Constants(NamedTuple):
    """C1, C2 and C0 of (29).

    C1 and C2 are functions of rho, C0 is a function of rho and the weight matrices A = W^Q W^K' and B = W^V W.
    """

    misalign: Callable[[Expr], Expr]
    train: Callable[[Expr], Expr]
    rest: Callable[[Expr, Matrix, Matrix], Expr]


def norm(matrix: Matrix) -> Expr:
    """Return the squared Frobenius norm, which bounds the squared operator norm."""
    return sum(entry**2 for entry in matrix)


PRINTED = Constants(lambda r: r**2, lambda r: r**2 + 1, lambda r, a, b: (1 + norm(a * b)) * r**2)
CORRECTED = Constants(lambda r: 3 * r**2, lambda r: 3 * (r**2 + 1), lambda r, a, b: 3 * (1 + norm(a) * norm(b)) * r**2)


def bounds_alone(claim: Expr) -> Finding:
    """Check that C0 = ``claim`` bounds the error alone, for outputs and targets of norm 1: (25) asks for both.

    Their squared distance is 2 - 2 cos(angle), so opposite ones are the farthest apart.
    """
    angle = sympy.Symbol("angle", real=True)
    farthest = sympy.calculus.util.maximum(2 - 2 * sympy.cos(angle), angle, sympy.Interval(0, sympy.pi))
    if claim >= farthest:
        return Finding(
            Status.HOLDS,
            f"C0 = {claim} does so alone, since output and target have norm 1, with any C1 and C2 from 0 on",
        )
    return Finding(Status.FAILS, f"an output opposite to the target: {farthest}, not at most {claim}")


def triangle(claim: int) -> Finding:
    """Check ||a + b||^2 <= c (||a||^2 + ||b||^2) for all vectors.

    For this, c I minus the matrix of ones must have no negative eigenvalue. With a negative one, equal vectors are a
    counterexample.
    """
    if (claim * sympy.eye(2) - sympy.ones(2)).is_positive_semidefinite:
        return Finding(Status.HOLDS)
    return Finding(Status.FAILS, f"two equal terms of norm 1: 4, not at most {2 * claim}")


def chain(claim: int) -> Finding:
    """Check the bound on the sum of the proof's five vectors, for a fraction s = k/l_test of far tokens.

    The vectors are e = g(l) - y, s r, -s (g(l) - g(m)), -s (g(m) - y) and -s y. The third and the fourth add up to -s
    e, so their squares are at least s^2 ||e||^2 / 2, and the sum is (1 - s) e + s r - s y. By Cauchy and Schwarz its
    square is at most 2 + (1 - s)^2 / (1 + s^2/2) times the sum of squares, and this bound is attained. ``claim`` must
    be at least as large for every s.
    """
    s = sympy.Symbol("s")
    needed = 2 + (1 - s) ** 2 / (1 + s**2 / 2)
    if claim >= sympy.calculus.util.maximum(needed, s, sympy.Interval(0, 1)):
        return Finding(Status.HOLDS)
    if claim < 2:
        return Finding(
            Status.FAILS,
            f"right in training (g(l) = g(m) = y), the opposite from far tokens alone (r = -y): 4 s^2, not at most "
            f"{2 * claim} s^2",
        )
    over = Rational(1, 2)
    while needed.subs(s, over) <= claim:
        over /= 2
    return Finding(
        Status.FAILS, f"s = {over}: up to {needed.subs(s, over)} times the sum of squares, not {claim} times"
    )


def check_pulled_out(claim: Callable[[Matrix, Matrix], Expr]) -> Finding:
    """Check ||x A G B||^2 <= claim(A, B) ||G||^2 for a token x of norm 1 and the gram matrix G of tokens of norm 1.

    It is tried on A and B among ``WEIGHTS`` and small G. The corrected claim is the norm's submultiplicativity.
    """
    x = Matrix([[1, 0]])
    for g in (token.T * token for token in UNIT):
        for a, b in product(WEIGHTS, repeat=2):
            if norm(x * a * g * b) > claim(a, b) * norm(g):
                return Finding(
                    Status.FAILS,
                    f"W^Q W^K' = {a.tolist()}, W^V W = {b.tolist()}, G = {g.tolist()}, x = {x.tolist()}: "
                    f"{norm(x * a * g * b)}, not at most {claim(a, b) * norm(g)}",
                )
    return Finding(Status.HOLDS)


def gram_norm(claim: Callable[[int], Expr]) -> Finding:
    """Check that the gram matrix of k tokens of norm 1 has norm at most ``claim(k)``: each adds a matrix of norm 1."""
    for k in range(1, 5):
        for tokens in product(UNIT, repeat=k):
            rows = Matrix.vstack(*tokens)
            if norm(rows.T * rows) > claim(k) ** 2:
                return Finding(Status.FAILS, f"k = {k} equal tokens")
    return Finding(Status.HOLDS)


def check_normalized(claim: set[str]) -> Finding:
    """Check the vectors that the paper takes to have norm 1: ``tokens``, ``targets`` and ``outputs`` of (25).

    Tokens and targets are one-hot. Outputs are those after one token e1 with W^Q W^K' = I and W^V W = c I.
    """
    one_hot = [Matrix([[1, 0]]), Matrix([[0, 1]])]
    things = {
        "tokens": one_hot,
        "targets": one_hot,
        "outputs": [one_hot[0] * one_hot[0].T * one_hot[0] * c for c in (1, 2)],
    }
    for name in sorted(claim):
        for thing in things[name]:
            if norm(thing) != 1:
                return Finding(
                    Status.FAILS, f"one token, W^V W = 2 I: one of the {name} has the squared norm {norm(thing)}"
                )
    return Finding(Status.HOLDS)


def loss_differs_by_constant(claim: Expr) -> Finding:
    """Check that a claim differs by a constant from ||g - y||^2 = 2 - 2 p, for output and target of norm 1.

    It then has the same derivative in p.
    """
    if is_zero(sympy.diff(claim - (2 - 2 * P), P)):
        return Finding(Status.HOLDS)
    at = [sympy.simplify(claim - (2 - 2 * P)).subs(P, value) for value in (1, Rational(1, 2))]
    return Finding(Status.FAILS, f"the difference is {at[0]} at p = 1 and {at[1]} at p = 1/2")


def symmetric_cross_entropy() -> Expr:
    """Return the symmetric cross-entropy of the outputs (p, 1 - p) and (q, 1 - q)."""
    log = sympy.log
    return -P * log(Q) - (1 - P) * log(1 - Q) - Q * log(P) - (1 - Q) * log(1 - P)


def entropies() -> Expr:
    """Return the sum of the entropies of the same two outputs."""
    return -sum(x * sympy.log(x) + (1 - x) * sympy.log(1 - x) for x in (P, Q))


def none_for_equal(claim: Expr) -> Finding:
    """Check that a measure of misalignment, a formula in p and q, is 0 for two equal outputs."""
    value = claim.subs(Q, P)
    if is_zero(value):
        return Finding(Status.HOLDS)
    return Finding(Status.FAILS, f"two outputs (1/2, 1/2): {sympy.simplify(value.subs(P, Rational(1, 2)))}")


def truncation(claim: tuple[str, ...]) -> Finding:
    """Check Pr(next symbol | last two) = Pr(next symbol | last one), exactly.

    It is checked for languages of two symbols from a hidden Markov model with two states; ``claim`` names the languages
    for which the statement should hold.
    """
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
                return Finding(Status.FAILS, f"{name}: Pr(1 | {last}) = {short}, Pr(1 | {before}{last}) = {long}")
    return Finding(Status.HOLDS)


def coupling(claim: Callable[[int, int], bool]) -> Finding:
    """Check that l and l - l' can both be uniform on l_train/2..l_train; ``claim(l, l - l')`` tells the allowed pairs.

    The extreme joint distributions are permutations (Birkhoff), here for l_train = 4. If all of them allow only l' = 0,
    ``claim`` may still order a pair of independent draws, of which only the two together have the distribution of
    training.
    """
    lengths = (2, 3, 4)
    allowed = [
        order
        for order in permutations(lengths)
        if all(claim(length, short) for length, short in zip(lengths, order, strict=True))
    ]
    if any(order != lengths for order in allowed):
        return Finding(Status.HOLDS)
    draws = list(product(lengths, repeat=2))
    if not all(claim(max(pair), min(pair)) for pair in draws):
        return Finding(Status.FAILS, "l_train = 4: equal distributions leave l' = 0 alone")
    longer = [Rational(sum(max(pair) == length for pair in draws), len(draws)) for length in lengths]
    return Finding(
        Status.CONDITION,
        "l and l - l' are two independent draws put in order. The misalignment is symmetric and stays; but l is then "
        f"more often long, for l_train = 4 of length 2, 3, 4 with probability {', '.join(map(str, longer))}, which "
        "changes the weights of L_train. Each by itself distributed as in training, they leave l' = 0 alone",
    )


class Instance(NamedTuple):
    """A language whose last two tokens are e2 and all earlier ones e1, with the target e2 and l_train = 2; and a model.

    The model's output is the mean of ``near`` for each near token and ``far`` for each far one. It would be ``absent``
    for e3, which never occurs, but is part of the weights.
    """

    name: str
    near: tuple[int, int, int]
    far: tuple[int, int, int]
    absent: tuple[int, int, int] = (0, 0, 0)

    @property
    def weights(self) -> tuple[Matrix, Matrix]:
        """A = W^Q W^K' and B = W^V W; after e2, the keys of tokens with an output are 1."""
        values = (self.far, self.near, self.absent)
        return Matrix([[0, 0, 0], [int(any(value)) for value in values], [0, 0, 0]]), Matrix(values)

    def output(self, length: int) -> Matrix:
        """Return the output after the last ``length`` tokens."""
        a, b = self.weights
        tokens = Matrix.vstack(*[E1] * (length - 2), *[E2] * min(length, 2))
        return E2 * a * tokens.T * tokens * b / length

    def error_and_bound(self, constants: Constants, test_length: int) -> tuple[Expr, Expr]:
        """Return E_gen at ``test_length`` and its bound, exact."""

        def error(length: int) -> Expr:
            return norm(self.output(length) - E2)

        windows = (1, 2)
        train = sum(error(length) for length in windows) / 2
        misalign = sum(norm(self.output(one) - self.output(other)) for one, other in product(windows, repeat=2)) / 4
        rho = 1 - Rational(2, 2 * test_length)
        bound = constants.misalign(rho) * misalign + constants.train(rho) * train + constants.rest(rho, *self.weights)
        return error(test_length), bound


# The first fulfils the paper's assumption at every length to 3: its outputs are one-hot, so normalized, and
# probabilities.
INSTANCES = [
    Instance(
        "right in training and answers with another token at l_test, one-hot at every length",
        (0, 1, 0),
        (3, -2, 0),
        (-3, 1, 0),
    ),
    Instance("right in training, the opposite three times over from far tokens", (0, 1, 0), (0, -3, 0)),
    Instance("silent in training, wrong from far tokens", (0, 0, 0), (0, -4, 0)),
]


def check_bound(claim: Constants) -> Finding:
    """Check the theorem with these constants.

    It is checked on the instances, smallest l_test first; by the inequality of the chain of vectors; and C0 by that of
    the gram matrix between the weights.
    """
    for test_length, instance in product(range(3, 41), INSTANCES):
        error, bounded = instance.error_and_bound(claim, test_length)
        if error > bounded:
            return Finding(
                Status.FAILS,
                f"l_train = 2, l_test = {test_length}, a model that is {instance.name}: the error is {error}, the "
                f"bound {bounded}",
            )
    least = min(sympy.cancel(claim.misalign(RHO) / RHO**2), sympy.cancel(claim.train(RHO) / (RHO**2 + 1)))
    of_chain = chain(least)
    if of_chain.status != Status.HOLDS:
        return of_chain
    return check_pulled_out(lambda a, b: sympy.cancel(claim.rest(RHO, a, b) / (3 * RHO**2)) - 1)


def grows(claim: Expr) -> Finding:
    """Check that C1/C2 as a function of rho grows with l_test: rho does, and the ratio with rho."""
    slope = sympy.factor(sympy.diff(claim, RHO))
    growing = sympy.diff(1 - N / (2 * LT), LT).is_positive
    if growing and slope.is_positive:
        return Finding(
            Status.HOLDS, f"from {claim.subs(RHO, Rational(1, 2))} at l_train to less than {claim.subs(RHO, 1)}"
        )
    return Finding(Status.FAILS, "the slope is not positive")


def at_most_l(claim: Expr) -> Finding:
    """Check k = l_test - l <= claim for every l in l_train/2..l_train."""
    slack = sympy.expand(claim - (LT - N / 2))
    return Finding(Status.HOLDS) if slack.is_nonnegative else Finding(Status.FAILS, "l = l_train/2")
