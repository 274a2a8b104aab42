"""Theorem 1 (paper, section 4 and appendix B.2, equations 25 to 29): generalization bounded by misalignment.

Stated: E_gen(l_test) <= C1 L_misalign + C2 L_train + C0 for constants that depend on l_test, for linear attention
whose tokens, targets and outputs have norm 1. That is true and says nothing: C0 = 4 bounds the error alone. The proof
gives C1 = rho^2, C2 = rho^2 + 1, C0 = (1 + ||W^Q W^K' W^V W||^2) rho^2, rho = 1 - l_train / (2 l_test). These constants
are false, even for outputs that are one-hot. Four steps use ||a + b||^2 <= ||a||^2 + ||b||^2, and one pulls a matrix
out of the middle of a product. Corrected, all three constants are three times as large, C0 holds a product of two
norms, and L_train is the loss at lengths l_train/2 to l_train. The corrected bound says little: the error itself is a
mean of two errors, one of which is that of the far context alone.
"""

import sympy

from theory.checkers import equals
from theory.closed_forms.formulas import L, N
from theory.ledger import Entry, Proposition, Status, Step
from theory.misalignment import (
    CORRECTED,
    LT,
    PRINTED,
    RHO,
    K,
    P,
    at_most_l,
    bounds_alone,
    chain,
    check_bound,
    check_normalized,
    check_pulled_out,
    coupling,
    entropies,
    gram_norm,
    grows,
    loss_differs_by_constant,
    none_for_equal,
    norm,
    symmetric_cross_entropy,
    triangle,
    truncation,
)


def _derivation() -> list[Step]:
    near, far, other, target = sympy.symbols("g_l r g_m y")  # g(l), g on the far context alone, g(l - l'), y
    mixed = (K * far + L * near) / (K + L)
    s = sympy.Symbol("s")
    share = K / (K + L)
    return [
        Step(
            "With k = l_test - l far tokens, the output at l_test is a mean of that on the far tokens alone, r, and "
            "that on the near ones:",
            r"g(l_\mathrm{test})",
            share * far + (1 - share) * near,
            sympy.expand(mixed),
        ),
        Step(
            "The paper's chain, as one sum of five vectors, m being the length l - l':",
            r"g(l_\mathrm{test}) - y",
            (near - target) + share * far - share * (near - other) - share * (other - target) - share * target,
            mixed - target,
        ),
        Step(
            "Of these the third and the fourth, for a share s = k/l_test of far tokens, add up to -s times the first, "
            "e, so their squares are at least s^2 e^2 / 2, and the whole is (1 - s) e + s r - s y:",
            r"g(l_\mathrm{test}) - y",
            (1 - share) * (near - target) + share * far - share * target,
            mixed - target,
        ),
        Step(
            "By Cauchy and Schwarz its square is at most (1 - s)^2 / (1 + s^2/2) + 1 + 1 times the sum of the five "
            "squares, which is 3 where s is 0 and less beyond: C1, C2 and C0 are three times those printed; r "
            "has norm at "
            "most ||W^Q W^K'|| ||W^V W||. The slope of that factor is never positive for s from 0 to 1:",
            r"\frac{\partial}{\partial s} \frac{(1 - s)^2}{1 + s^2/2}",
            -4 * (1 - s) * (2 + s) / (2 + s**2) ** 2,
            sympy.factor(sympy.diff((1 - s) ** 2 / (1 + s**2 / 2), s)),
        ),
        Step(
            "A sharper bound needs no misalignment: squares are convex, so the error at l_test is at most the same "
            "mean of the two errors. Their difference is",
            r"\tfrac{k}{l_\mathrm{test}} (r - y)^2 + \tfrac{l}{l_\mathrm{test}} (g_l - y)^2 "
            r"- (g(l_\mathrm{test}) - y)^2",
            sympy.factor(share * (1 - share) * (far - near) ** 2),
            sympy.factor(share * (far - target) ** 2 + (1 - share) * (near - target) ** 2 - (mixed - target) ** 2),
        ),
        Step(
            "Nor is the chain needed for a bound by the norms alone: g(l_test) - g(l) is k/l_test times the difference "
            "of two means of x x', of norm at most 1, between the weights. So the error at l_test is at most "
            "(sqrt(E_train) + (k/l_test) ||W^Q W^K'|| ||W^V W||)^2.",
            r"g(l_\mathrm{test}) - g(l)",
            sympy.factor(share * (far - near)),
            mixed - near,
        ),
        Step(
            "The ratio of the constants is the same in print and mended:",
            r"\frac{C_1}{C_2}",
            RHO**2 / (1 + RHO**2),
            sympy.cancel(CORRECTED.misalign(RHO) / CORRECTED.train(RHO)),
        ),
    ]


# The two faults of the theorem's proof.
TRIANGLE = "a squared sum taken to be at most the sum of squares"
PULLED_OUT = "a matrix taken out of the middle of a product"
_SQUARES = r"\|a + b\|^2 \le \|a\|^2 + \|b\|^2"

PROPOSITION = Proposition(
    "Theorem 1",
    "section 4 and appendix B.2, equations 25 to 29",
    [
        Entry(
            "25",
            "Each token, output and target is normalized.",
            {"tokens", "targets", "outputs"},
            check_normalized,
            tex=r"\|g_\theta(x)\| = 1",
            corrected={"tokens", "targets"},
            mended="(25) does not bring it about for outputs; only tokens and targets need it.",
            otherwise=Status.ASSUMPTION,
        ),
        Entry(
            "26",
            "Cutting the input changes the target of no sequence.",
            ("independent symbols", "a Markov chain", "a hidden Markov chain"),
            truncation,
            tex=r"\Pr(y(x_{[:l_1]}) \ne y(x_{[:l_2]})) = 0",
            corrected=("independent symbols", "a Markov chain"),
            mended="Met by the token that does follow, by its distribution only where short windows decide it: some "
            "generality is lost.",
            otherwise=Status.ASSUMPTION,
        ),
        Entry(
            "27",
            "The squared distance stands for the symmetric cross-entropy of (2): outputs that agree have none of it.",
            symmetric_cross_entropy(),
            none_for_equal,
            tex=r"g_\theta(x_{[-l_1:]}) = g_\theta(x_{[-l_2:]}) \implies \mathcal{L}_\mathrm{misalign} = 0",
            corrected=symmetric_cross_entropy() - entropies(),
            mended="A simplification, stated as one. It is met by the excess over the two entropies, the symmetric "
            "divergence; cross-entropy itself can be lowered by sharper outputs that agree no better.",
            otherwise=Status.ASSUMPTION,
        ),
        Entry(
            "27, after",
            "Cross-entropy and squared distance differ by a constant when output and target are normalized.",
            -sympy.log(P),
            loss_differs_by_constant,
            tex=r"-\log p = \|g - y\|^2 + \mathrm{const}",
            corrected=-2 * P,
            mended="Between vectors of norm 1 the squared distance is 2 - 2p, affine in p, not in its logarithm.",
            fault="cross-entropy taken for squared distance but for a constant",
        ),
        Entry(
            "28",
            "For some constants that depend on l_test the error is at most C1 L_misalign + C2 L_train + C0.",
            4,
            bounds_alone,
            tex=r"\mathcal{E}_\mathrm{gen} \le C_1^{(l_\mathrm{test})} \mathcal{L}_\mathrm{misalign} "
            r"+ C_2^{(l_\mathrm{test})} \mathcal{L}_\mathrm{train} + C_0^{(l_\mathrm{test})}",
            mended="It says nothing unless the constants are named, as in (29).",
        ),
        Entry(
            "28, step 1",
            "The error at l_test is at most the squared change of output plus the error at l.",
            1,
            triangle,
            tex=_SQUARES,
            corrected=2,
            mended="A factor 2.",
            fault=TRIANGLE,
        ),
        Entry(
            "28, step 2",
            "The gram matrix of all tokens over l_test, minus that of the near ones over l, splits into far and near: "
            "the near part's factor is",
            -(LT - L) / (L * LT),
            equals(sympy.together(1 / LT - 1 / L)),
            left=r"\frac{1}{l_\mathrm{test}} - \frac{1}{l}",
        ),
        Entry(
            "28, step 3",
            "The square of the two parts' sum is at most the sum of their squares.",
            1,
            triangle,
            tex=_SQUARES,
            corrected=2,
            mended="A factor 2.",
            fault=TRIANGLE,
        ),
        Entry(
            "28, step 4",
            "The far part is at most the norm of the product of all weights times that of the gram matrix.",
            lambda a, b: norm(a * b),
            check_pulled_out,
            tex=r"\|x_0 W^Q (W^K)^\top G W^V W\|^2 \le \|W^Q (W^K)^\top W^V W\|^2 \, \|G\|^2",
            corrected=lambda a, b: norm(a) * norm(b),
            mended="The gram matrix G stands between the weights: the product of the two norms.",
            fault=PULLED_OUT,
        ),
        Entry(
            "28, step 5",
            "The gram matrix of k tokens of norm 1 has norm at most k.",
            lambda k: sympy.Integer(k),
            gram_norm,
            tex=r"\|X^\top X\| \le k",
        ),
        Entry(
            "28, step 6",
            "The near part is k/l_test times the output at l.",
            K / LT / L,
            equals((LT - L).subs(LT, K + L) / (L * LT)),
            left=r"\frac{l_\mathrm{test} - l}{l \, l_\mathrm{test}}",
        ),
        Entry(
            "28, step 7",
            "The output at l is at most its difference from that at l - l' and the latter, squared each.",
            1,
            triangle,
            tex=_SQUARES,
            corrected=2,
            mended="A factor 2.",
            fault=TRIANGLE,
        ),
        Entry(
            "28, step 8",
            "The output at l - l' is at most its error and the target's norm 1, squared each.",
            1,
            triangle,
            tex=_SQUARES,
            corrected=2,
            mended="A factor 2.",
            fault=TRIANGLE,
        ),
        Entry(
            "28, step 9",
            "No more than L = l_test - l_train/2 tokens are far.",
            LT - N / 2,
            at_most_l,
            tex=r"k \le l_\mathrm{test} - \tfrac{1}{2} l_\mathrm{train}",
        ),
        Entry(
            "28, step 10",
            "Together: the error is at most the sum of the five squares.",
            1,
            chain,
            tex=r"\|a_1 + \dots + a_5\|^2 \le \|a_1\|^2 + \dots + \|a_5\|^2",
            corrected=3,
            mended="A factor 3: the third and the fourth are no vectors of their own (derivation).",
            consequence_of=(TRIANGLE,),
        ),
        Entry(
            "28, step 11",
            "l and l - l', with l' not negative, are both drawn as in training.",
            lambda length, short: short <= length,
            coupling,
            tex=r"l, \; l - l' \sim U[l_\mathrm{train}/2, l_\mathrm{train}], \; l' \ge 0",
            corrected=lambda length, short: True,
            mended="Let l' have either sign, as the proof allows, and draw the two independently. L_train is then the "
            "loss at these lengths, not at all of (8).",
        ),
        Entry(
            "28, 29",
            "The bound with the constants C1 = rho^2, C2 = rho^2 + 1, C0 = (1 + C) rho^2.",
            PRINTED,
            check_bound,
            tex=r"\mathcal{E}_\mathrm{gen} \le \rho^2 \mathcal{L}_\mathrm{misalign} "
            r"+ (\rho^2 + 1) \mathcal{L}_\mathrm{train} + (1 + \|W^Q (W^K)^\top W^V W\|^2) \rho^2",
            corrected=CORRECTED,
            mended="All three constants times 3, and in C0 the norm of W^Q W^K' times that of W^V W; L_train is the "
            "loss at lengths l_train/2 to l_train (step 11).",
            consequence_of=(TRIANGLE, PULLED_OUT),
        ),
        Entry(
            "29, ratio",
            "C1/C2 grows with l_test.",
            RHO**2 / (RHO**2 + 1),
            grows,
            left=r"\frac{C_1}{C_2}",
        ),
    ],
    _derivation,
)
