"""The ledger: the statements of the paper's appendix B, equation by equation, and the verdict on each.

An entry holds a statement as printed, in a form that its checker can compute with, and, if the statement fails, the
corrected one. The checker computes the correct value independently (by enumeration, exact optima or symbolic moments)
and compares. Its verdict depends on the statement: the tests feed it altered ones. The corrected statement must pass
the same checker.

One fault can make many statements fail. So each statement that fails names its own fault, or the faults of other
statements that it follows from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import sympy
from sympy import Expr, Matrix

from theory.closed_forms.formulas import H, is_zero


class Status(StrEnum):
    """The status of a statement after its check."""

    HOLDS = "holds"
    CONDITION = "holds under a condition"
    ASSUMPTION = "assumption"
    SLIP = "slip of the pen"
    FAILS = "fails"


# The label of a verdict's detail.
DETAILS = {
    Status.HOLDS: "Checked",
    Status.CONDITION: "Condition",
    Status.ASSUMPTION: "Not always met",
    Status.SLIP: "As printed",
    Status.FAILS: "Counterexample",
}


class Finding(NamedTuple):
    """A status, and the condition or the smallest counterexample."""

    status: Status
    detail: str = ""


Checker = Callable[[Any], Finding]


class ForHeads(NamedTuple):
    """A formula in l_train (and in the length) for each head dimension, stated for l_train from ``least`` on."""

    formulas: Mapping[int, Any]
    least: int = 1

    @classmethod
    def all(cls, formula: Any) -> "ForHeads":
        """Return the same formula for every head dimension, as in the paper."""
        return cls(dict.fromkeys((1, 2), formula))


@dataclass(frozen=True, eq=False)
class Entry:
    """A statement of the paper. ``equation`` is its number, or the two numbers that an inference connects.

    If the claim is a formula, ``left`` is the left side of the equation in LaTeX; for other claims ``tex`` is all of
    it. ``otherwise`` is the status if the claim is false, for an assumption of the paper, which cannot fail, and a
    misprint without consequences, which does not. An entry that fails has a ``fault`` of its own, or is a
    ``consequence_of`` faults.
    """

    equation: str
    says: str
    claim: Any
    check: Checker
    left: str = ""
    tex: str = ""
    corrected: Any = None
    mended: str = ""
    otherwise: Status = Status.FAILS
    fault: str = ""
    consequence_of: tuple[str, ...] = ()

    @cached_property
    def verdict(self) -> Finding:
        """The verdict on the statement as printed."""
        verdict = self.check(self.claim)
        return verdict._replace(status=self.otherwise) if verdict.status == Status.FAILS else verdict

    @property
    def printed(self) -> str:
        """The statement as printed, in LaTeX."""
        return self.tex or self._formula(self.claim)

    @property
    def corrections(self) -> list[str]:
        """The corrected statement in LaTeX, if it is a formula; one for each head dimension."""
        if isinstance(self.corrected, ForHeads):
            formulas = self.corrected.formulas
            name = "M" if isinstance(formulas[max(formulas)], sympy.MatrixBase) else r"\mathcal{E}(l)"
            return [
                rf"\text{{head dimension {dims(dim)}: }} {name} = {latex(value)}" for dim, value in formulas.items()
            ]
        return [self._formula(self.corrected)] if self.left and self.corrected is not None else []

    @property
    def why(self) -> str:
        """The verdict's detail with its label: a condition, a counterexample."""
        return f"{DETAILS[self.verdict.status]}: {self.verdict.detail}." if self.verdict.detail else ""

    @property
    def blame(self) -> str:
        """The entry's fault, or the faults that it follows from, in words."""
        return describe_cause(self.fault, "; ".join(self.consequence_of))

    @property
    def words(self) -> str:
        """The statement as text, with its formula if it has one."""
        return f"{self.says.rstrip('.:')}: {write_plain(self.claim)}" if self.left else self.says

    @property
    def mended_words(self) -> str:
        """The correction as text."""
        if isinstance(self.corrected, ForHeads):
            parts = [
                f"Head dimension {dims(dim)}: {write_plain(value)}." for dim, value in self.corrected.formulas.items()
            ]
            return " ".join([self.mended, *parts])
        if self.left and self.corrected is not None:
            return f"{self.mended} Right: {write_plain(self.corrected)}."
        return self.mended

    def _formula(self, claim: Any) -> str:
        return f"{self.left} = {latex(claim)}"


class Step(NamedTuple):
    """A step of a derivation: in words, and a formula derived in two ways that must agree."""

    words: str
    left: str
    formula: Expr | Matrix
    again: Expr | Matrix

    def agrees(self) -> bool:
        """Return True if both formulas are equal."""
        difference = Matrix([self.formula]) - Matrix([self.again])
        return all(is_zero(entry) for entry in difference)

    @property
    def tex(self) -> str:
        """The formula in LaTeX."""
        return f"{self.left} = {latex(self.formula)}"


class Proposition(NamedTuple):
    """The content of a file of ``theory.propositions``: a title, the place in the paper, entries and derivation."""

    title: str
    where: str
    entries: list[Entry]
    derivation: Callable[[], list[Step]]


def describe_cause(fault: str, consequence_of: str) -> str:
    """Return the cause of a failure, in words."""
    if fault:
        return f"Fault: {fault}."
    return f"Follows from: {consequence_of}." if consequence_of else ""


def latex(formula: Any) -> str:
    """Return a formula in LaTeX, with H_n for harmonic numbers."""
    last = sympy.Symbol("z")  # sorts after n, for n - H_n
    formula = sympy.sympify(formula).subs(H, last)
    return sympy.latex(formula, symbol_names={last: "H_n"}, mat_str="pmatrix", mat_delim="")


def write_plain(value: Expr) -> str:
    """Return a number or formula as text: rationals exact, algebraic numbers to six digits."""
    value = sympy.sympify(value)
    if isinstance(value, sympy.MatrixBase):
        return f"[{'; '.join(', '.join(write_plain(entry) for entry in row) for row in value.tolist())}]"
    if value.is_number and not value.is_rational:
        return str(sympy.N(value, 6))
    return (
        str(value).replace("harmonic(n)", "H_n").replace("varepsilon", "epsilon").replace("**", "^").replace("*", " ")
    )


def dims(head_dim: int) -> str:
    """Return the head dimensions that ``head_dim`` stands for: all from 2 on can compute the same functions."""
    return f"{head_dim} or more" if head_dim > 1 else "1"
