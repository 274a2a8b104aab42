"""Theorem 2 (paper, appendix B.1, equations 9 to 11): how errors grow with the test length.

Stated: quadratically for length and sum, boundedly for the mean, as O((l_test - l_train)^2) and O(1) of the optimum.
Found: it holds for every M, trained or not, as l_test grows: a readout is an average, so it stays between the least and
the greatest entry of M while the target grows. But the O hides a constant that depends on l_train: near l_train the
error is not small.
"""

import sympy
from sympy import Expr

from theory.checkers import grows_as
from theory.closed_forms.formulas import FREE, H, L, N, error_formula
from theory.ledger import Checker, Entry, Finding, Proposition, Status, Step
from theory.propositions import length, sums


def _order(task: str) -> Checker:
    """Return a checker of the error of any M over (l_test - l_train)^power.

    Is it bounded as l_test grows, and with one bound for all l_train?
    """

    def check(power: int) -> Finding:
        growth = grows_as(error_formula(FREE, task))(power)
        if growth.status == Status.FAILS or power == 0:
            return growth
        # One step beyond training, where (l_test - l_train)^power is 1, the paper's own error grows with l_train. H_n
        # is replaced by 0: that moves Gamma towards l_test, and so makes the error smaller.
        near = papers_error(task).subs(L, N + 1)
        if sympy.limit(near.subs(H, 0), N, sympy.oo) != sympy.oo:
            return Finding(Status.HOLDS)
        at = {n: near.subs(N, n).doit() for n in (1, 10)}
        return Finding(
            Status.CONDITION,
            f"l_test grows while l_train stays. No constant serves all l_train: at l_test = l_train + 1 the paper's "
            f"own error is {at[1]} for l_train = 1, {float(at[10]):.3g} for 10, and grows without bound",
        )

    return check


def papers_error(task: str) -> Expr:
    """Return the error of the paper's optimum M."""
    outputs = {"length": length.constant((N + 1) / 2), "sum": sums.share_of_ones(sums.BEST)}[task]
    return error_formula(outputs, task)


def _derivation() -> list[Step]:
    limits = {task: sympy.limit(error_formula(FREE, task) / L**2, L, sympy.oo) for task in ("length", "sum")}
    mean = sympy.expand(sympy.limit(error_formula(FREE, "mean"), L, sympy.oo))
    zero, one = ((FREE[row, 0] + FREE[row, 1]) / 2 - sympy.Rational(1, 2) for row in (0, 1))
    return [
        Step(
            "For any M, the error of the length task over the square of the length tends to",
            r"\lim_{l \to \infty} \frac{\mathcal{E}_\mathrm{length}}{l^2}",
            sympy.Integer(1),
            limits["length"],
        ),
        Step(
            "that of the sum task to",
            r"\lim_{l \to \infty} \frac{\mathcal{E}_\mathrm{sum}}{l^2}",
            sympy.Rational(1, 4),
            limits["sum"],
        ),
        Step(
            "and the error of the mean task itself to",
            r"\lim_{l \to \infty} \mathcal{E}_\mathrm{mean}",
            (zero**2 + one**2) / 2,
            mean,
        ),
    ]


PROPOSITION = Proposition(
    "Theorem 2",
    "appendix B.1, equations 9 to 11",
    [
        Entry(
            "9",
            "Length task: the error has a quadratic relationship with the predicted length.",
            2,
            _order("length"),
            tex=r"\mathcal{E}_\mathrm{length} = \mathcal{O}((l_\mathrm{test} - l_\mathrm{train})^2)",
            mended="For any M, the optimum's or not, the error over l_test^2 tends to 1.",
        ),
        Entry(
            "10",
            "Sum task: the error has a quadratic relationship with the predicted length.",
            2,
            _order("sum"),
            tex=r"\mathcal{E}_\mathrm{sum} = \mathcal{O}((l_\mathrm{test} - l_\mathrm{train})^2)",
            mended="For any M the error over l_test^2 tends to 1/4.",
        ),
        Entry(
            "11",
            "Mean task: the error has a fixed upper bound.",
            0,
            _order("mean"),
            tex=r"\mathcal{E}_\mathrm{mean} = \mathcal{O}(1)",
        ),
    ],
    _derivation,
)
