"""Checkers of the ledger's statements.

Each function here takes a correct value, computed independently of the paper (by enumeration, exact optima or symbolic
moments), and returns a checker: a function from a statement to a verdict.
"""

from collections.abc import Callable, Iterable

import sympy
from sympy import Expr, Matrix

from theory.closed_forms.formulas import L, N, is_zero
from theory.closed_forms.linear_attention import TARGETS, mixture, readout, training_loss
from theory.closed_forms.optima import Optimum, optimum
from theory.ledger import Checker, Finding, ForHeads, Status, dims, write_plain

LENGTHS = range(1, 13)  # lengths that are searched for a formula's smallest counterexample


def equals(truth: Expr, symbol: Expr = L) -> Checker:
    """Return a checker that a formula equals ``truth`` for every value of its symbols.

    The counterexample is the smallest ``symbol`` at which they differ.
    """

    def check(claim: Expr) -> Finding:
        if is_zero(truth - claim):
            return Finding(Status.HOLDS)
        for value in LENGTHS:
            right, said = (sympy.factor(sympy.expand(side.subs(symbol, value).doit())) for side in (truth, claim))
            if sympy.expand(right - said) != 0:
                name = "l_train" if symbol == N else "l"
                return Finding(Status.FAILS, f"{name} = {value}: {write_plain(right)}, not {write_plain(said)}")
        raise ArithmeticError(f"{truth - claim} is 0 at {LENGTHS} but was not shown to be 0")

    return check


def only_zero_of_error(task: str) -> Checker:
    """Return a checker that M(l) is the only M whose error at length l is 0.

    M(l) must solve the equations output = target, one for each outcome, and they must determine all four entries.
    """
    entries = sympy.symbols("m00 m01 m10 m11")
    unknown = Matrix(2, 2, entries)

    def check(claim: Matrix) -> Finding:
        several = []
        for length in LENGTHS:
            equations = [
                readout(unknown, last, others + last, length) - TARGETS[task](others + last, length)
                for last in (0, 1)
                for others in range(length)
            ]
            given = dict(zip(entries, claim.subs(L, length), strict=True))
            if any(sympy.sympify(equation).subs(given) != 0 for equation in equations):
                return Finding(Status.FAILS, f"l = {length}: the error is not 0 there")
            if Matrix([[sympy.diff(equation, entry) for entry in entries] for equation in equations]).rank() < 4:
                several.append(length)
        if several:
            return Finding(
                Status.CONDITION,
                f"l other than {', '.join(map(str, several))}, where only M[0, 0] and M[1, 1] are determined",
            )
        return Finding(Status.HOLDS, f"for l = 1 to {LENGTHS[-1]}")

    return check


def least_loss(task: str, longest: int = 8) -> Checker:
    """Return a checker that, for each head dimension, an M(l_train) has the least training loss.

    It is compared with the exact optimum up to l_train = ``longest``.
    """

    def check(said: ForHeads) -> Finding:
        claim = said.formulas

        def beaten(head_dim: int) -> str:
            for length in range(said.least, longest + 1):
                theirs = training_loss(claim[head_dim].subs(N, length).doit(), task, length)
                best = optimum(task, length, head_dim)
                if best.loss != theirs:
                    how = "" if _stationary(best, claim[head_dim].subs(N, length).doit()) else ", and not stationary"
                    return f"l_train = {length}: loss {write_plain(theirs)}{how}, the least is {write_plain(best.loss)}"
            return ""

        return by_head_dim(claim, beaten, f"compared for l_train = {said.least} to {longest}")

    return check


def error_of_least_loss(task: str, longest: int = 5) -> Checker:
    """Return a checker that, for each head dimension, an error(l_train, l) is that of the optimum.

    It is compared up to l_train = ``longest``. If the optimum is not unique, there is no such error.
    """

    def check(said: ForHeads) -> Finding:
        claim = said.formulas

        def wrong(head_dim: int) -> str:
            for length in range(said.least, longest + 1):
                best = optimum(task, length, head_dim)
                if not best.is_unique:
                    continue
                for test_length in LENGTHS:
                    theirs = sympy.expand(claim[head_dim].subs({N: length, L: test_length}).doit())
                    right = best.error(test_length)
                    if theirs != right:
                        return f"l_train = {length}, l = {test_length}: {write_plain(right)}, not {write_plain(theirs)}"
            return ""

        verdict = by_head_dim(claim, wrong, f"compared for l_train = {said.least} to {longest}, l = 1 to {LENGTHS[-1]}")
        open_at = [n for n in range(said.least, longest + 1) if not optimum(task, n, max(claim)).is_unique]
        if verdict.status == Status.FAILS or not open_at:
            return verdict
        unique = f"l_train other than {', '.join(map(str, open_at))}, where several M have the least loss"
        detail = f"{unique}; {verdict.detail}" if verdict.status == Status.CONDITION else unique
        return Finding(Status.CONDITION, detail)

    return check


def by_head_dim(head_dims: Iterable[int], problem: Callable[[int], str], scope: str) -> Finding:
    """Return whether a statement holds, fails, or holds for some head dimensions.

    ``problem`` returns the problem for a head dimension, or ""; ``scope`` is the range that it tried.
    """
    found = {head_dim: problem(head_dim) for head_dim in head_dims}
    names = {head_dim: f"head dimension {dims(head_dim)}" for head_dim in found}
    failing = "; ".join(f"{names[head_dim]}, {text}" for head_dim, text in found.items() if text)
    holding = ", ".join(names[head_dim] for head_dim, text in found.items() if not text)
    if not failing:
        return Finding(Status.HOLDS, scope)
    return Finding(Status.CONDITION, f"{holding}. At {failing}") if holding else Finding(Status.FAILS, failing)


def _stationary(best: Optimum, outputs: Matrix) -> bool:
    """Return True if the loss is stationary at ``outputs``, along all M or along those of rank one.

    The latter is for a head of dimension 1.
    """
    rows = mixture(TARGETS[best.task], best.train_length)
    slope = Matrix.vstack(*((2 * (row.gram * outputs.row(k).T - row.cross)).T for k, row in enumerate(rows)))
    if best.head_dim > 1:
        return slope.is_zero_matrix
    kappa = outputs.row(1) / outputs[1, 1]  # M = q kappa; dq and dkappa change it by dq kappa + q dkappa
    return (slope * kappa.T).is_zero_matrix and (outputs[:, 1].T * slope).is_zero_matrix


def grows_as(error: Expr) -> Checker:
    """Return a checker that the error is O(l^power): its ratio to that has a finite limit as l grows, for every M."""

    def check(power: int) -> Finding:
        limit = sympy.limit(error / L**power, L, sympy.oo)
        if limit.has(sympy.oo):
            return Finding(Status.FAILS, f"the error over l^{power} grows beyond all bounds")
        return Finding(Status.HOLDS)

    return check
