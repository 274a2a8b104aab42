"""The model and its loss (paper, appendix B.1, equations 5 to 8 and 12).

Linear attention, causally masked and divided by the position, reads out every prefix; the loss is the mean over all
prefixes of a sequence. Two symbols give queries, keys and values two values each, so that four numbers, the matrix
M[a, b] = (q(a) . k(b)) v(b), decide the model; the paper's proof goes on with two scalars q and two scalars kappa.
"""

from collections import Counter
from collections.abc import Callable
from itertools import product

import sympy
from sympy import Expr, Matrix, Rational

from theory.closed_forms.formulas import FREE, H, L, N, mixture_formula, moments_formula
from theory.closed_forms.linear_attention import expected_error
from theory.ledger import Entry, Finding, Proposition, Status, Step

ONES = sympy.Symbol("i", integer=True)


def _attention(n: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return queries, keys and values (n x 2, n x 2, n x 1) without any symmetry."""
    q, k = (Matrix(n, 2, lambda i, j, s=s: (s * i * i + 3 * i * j + 2 * j + 1) % 7 - 3) for s in (1, 2))
    return q, k, Matrix(n, 1, lambda i, _: i * i - 2 * i + 3)


def _check_masked_row(claim: Callable[[int], Expr]) -> Finding:
    """Check that ``claim(k)`` is the factor of the sum over i <= k in row k.

    The masked (5) is divided by the position.
    """
    for n in range(1, 5):
        q, k, v = _attention(n)
        masked = (q * k.T).multiply_elementwise(Matrix(n, n, lambda i, j: 1 if j <= i else 0)) * v
        for row in range(n):
            summed = sum((q[row, :] * k[i, :].T)[0] * v[i] for i in range(row + 1))
            if masked[row] / (row + 1) != claim(row + 1) * summed:
                return Finding(Status.FAILS, f"n = {n}, position {row + 1}")
    return Finding(Status.HOLDS)


def _rank(claim: Callable[[int], int]) -> Finding:
    """Check that M has rank at most ``claim(d)`` for heads of dimension d."""
    for d in (1, 2, 3):
        q, k = Matrix(2, d, lambda i, j: i + (1 if i == j else 0)), Matrix(2, d, lambda i, j: 1 if i == j else 0)
        outputs = (q * k.T).multiply_elementwise(Matrix([[1, 1], [1, 1]]))
        if outputs.rank() > claim(d):
            return Finding(
                Status.CONDITION, f"head dimension 1. At {d}, M = {outputs.tolist()} has rank {outputs.rank()}"
            )
        if claim(d) > min(d, 2):
            return Finding(Status.FAILS, f"head dimension {d}: no M of rank {claim(d)} is reached")
    return Finding(Status.HOLDS)


def _length_weights(claim: Callable[[int, int], Expr]) -> Finding:
    """Check (8), over whole sequences of length n with every prefix supervised, against a weighted sum.

    The sum is that of ``claim(l, n)`` x l(g; l).
    """
    for n in range(1, 7):
        whole = sympy.Integer(0)
        for x in product((0, 1), repeat=n):
            for k in range(1, n + 1):
                g = sum(FREE[x[k - 1], symbol] for symbol in x[:k]) / k
                whole += (g - sum(x[:k])) ** 2
        parts = sum(claim(length, n) * expected_error(FREE, "sum", length) for length in range(1, n + 1))
        if sympy.expand(whole / (n * 2**n) - parts) != 0:
            return Finding(Status.FAILS, f"l_train = {n}")
    return Finding(Status.HOLDS)


def _check_counting(claim: tuple[Expr, Expr]) -> Finding:
    """Check how many sequences end in 1 (0) and have i ones, by counting all of them to length 12."""
    for length in range(1, 13):
        counts = Counter((x[-1], sum(x)) for x in product((0, 1), repeat=length))
        for last, formula in zip((1, 0), claim, strict=True):
            for ones in range(length + 1):
                # A binomial coefficient with a negative lower number is 0, as the paper's sums from i = 0 need.
                if formula.subs({L: length, ONES: ones}).doit() != counts[last, ones]:
                    return Finding(Status.FAILS, f"l = {length}, last symbol {last}, {ones} ones")
    return Finding(Status.HOLDS)


def _derivation() -> list[Step]:
    row = moments_formula("length")[0]
    own, other = (L + 1) / (2 * L), (L - 1) / (2 * L)
    gram = Matrix([[1 + 3 / L, 1 - 1 / L], [1 - 1 / L, 1 - 1 / L]]) / 8
    return [
        Step(
            "A readout at the symbol a averages row a of M with two weights: the share of symbols like a, its own "
            "among them, and the share of the others. With B ~ Bin(l - 1, 1/2) others than the last one like it, the "
            "shares are (1 + B)/l and (l - 1 - B)/l, and their means are",
            r"\mathrm{E}\,(s_\mathrm{own}, s_\mathrm{other})",
            Matrix([[own, other]]),
            2 * (row.cross / L).T,
        ),
        Step(
            "The expected squared error is quadratic in each row of M. Its second moments, for x_l = 0, whose "
            "probability 1/2 is contained, in the order own, other:",
            r"\mathrm{E}\,[x_l = a]\, s s^\top",
            gram,
            row.gram,
        ),
        Step(
            "Averaged over the lengths 1 to n = l_train, 1/l becomes H_n / n:",
            r"\frac{1}{n} \sum_{l=1}^{n} \mathrm{E}\,[x_l = a]\, s s^\top",
            Matrix([[1 + 3 * H / N, 1 - H / N], [1 - H / N, 1 - H / N]]) / 8,
            mixture_formula("length")[0].gram,
        ),
        Step(
            "Its determinant is positive from n = 2 on, so that each row has one best value and the loss one minimum, "
            "as long as no rank binds M.",
            r"\det",
            sympy.factor((1 - H / N) * (H / N) / 16),
            sympy.factor(mixture_formula("length")[0].gram.det()),
        ),
    ]


PROPOSITION = Proposition(
    "The model and its loss",
    "appendix B.1, equations 5 to 8 and 12",
    [
        Entry(
            "5 -> 6",
            "With the causal mask, row k of (5) divided by its position is the sum over i <= k divided by k.",
            lambda k: Rational(1, k),
            _check_masked_row,
            tex=r"\frac{1}{k} Q_k K^\top V = \frac{1}{k} \sum_{i=1}^{k} Q_k K_i^\top V_i",
        ),
        Entry(
            "7",
            "The output depends on the last symbol and the number of ones alone; how many sequences share it (the sums "
            "before 13, 16 and 21).",
            (sympy.binomial(L - 1, ONES - 1), sympy.binomial(L - 1, ONES)),
            _check_counting,
            tex=r"\#\{x : x_l = 1, \textstyle\sum x = i\} = C_{l-1}^{i-1}, \quad "
            r"\#\{x : x_l = 0, \textstyle\sum x = i\} = C_{l-1}^{i}",
        ),
        Entry(
            "7 -> 12",
            "Queries and the products kappa of keys and values may be treated as scalars: M = q kappa has rank one.",
            lambda head_dim: 1,
            _rank,
            tex=r"M = \begin{pmatrix} q'' \\ q' \end{pmatrix} \begin{pmatrix} \kappa'' & \kappa' \end{pmatrix}",
            corrected=lambda head_dim: min(head_dim, 2),
            mended="M has rank at most the head dimension, so from 2 on any M can be had.",
        ),
        Entry(
            "8 = 12",
            "The loss over sequences of length l_train, every prefix supervised, is the mean of the losses at lengths "
            "1 to l_train.",
            lambda length, n: Rational(1, n),
            _length_weights,
            tex=r"\mathcal{L}(g; n) = \frac{1}{n} \sum_{l=1}^{n} \ell(g; l)",
        ),
    ],
    _derivation,
)
