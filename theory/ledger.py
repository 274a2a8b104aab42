"""The ledger: what the paper's appendix B states, equation by equation, and what a machine says of it.

An entry holds a statement as printed, in a form that its judge can compute with, and where it fails the statement
mended. The judge knows the truth by a way of its own (enumeration, exact optima, symbolic moments) and compares: feed
it another statement and it says something else. The mended statement must pass the same judge.

One fault can make many statements fail. So each that fails names the fault that it commits itself, or those of other
statements that it follows from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import sympy
from sympy import Expr, Matrix

from theory.formulas import H, is_zero


class Status(StrEnum):
    """What became of a statement."""

    HOLDS = "holds"
    CONDITION = "holds under a condition"
    ASSUMPTION = "assumption"
    SLIP = "slip of the pen"
    FAILS = "fails"


# What the detail of a verdict is.
DETAILS = {
    Status.HOLDS: "Checked",
    Status.CONDITION: "Condition",
    Status.ASSUMPTION: "Not always met",
    Status.SLIP: "As printed",
    Status.FAILS: "Counterexample",
}


class Verdict(NamedTuple):
    """A status, and the condition or the smallest counterexample."""

    status: Status
    detail: str = ""


Judge = Callable[[Any], Verdict]


class ForHeads(NamedTuple):
    """A formula in l_train (and in the length) for each head dimension, said for l_train from ``least`` on."""

    formulas: Mapping[int, Any]
    least: int = 1

    @classmethod
    def all(cls, formula: Any) -> "ForHeads":
        """The same for every head, as the paper has it."""
        return cls(dict.fromkeys((1, 2), formula))


@dataclass(frozen=True, eq=False)
class Entry:
    """A statement of the paper's. ``equation`` is its number, or the numbers that an inference leads between.

    ``left`` is LaTeX for what a claim that is a formula is said to equal; of any other claim ``tex`` is the whole.
    ``otherwise`` is its status if its judge finds it false: what the paper assumes cannot fail, and a slip of the pen
    that nothing follows from is none. An entry that fails commits the ``fault``, or is a ``consequence_of`` faults.
    """

    equation: str
    says: str
    claim: Any
    judge: Judge
    left: str = ""
    tex: str = ""
    corrected: Any = None
    mended: str = ""
    otherwise: Status = Status.FAILS
    fault: str = ""
    consequence_of: tuple[str, ...] = ()

    @cached_property
    def verdict(self) -> Verdict:
        """The judge's word on the statement as printed."""
        verdict = self.judge(self.claim)
        return verdict._replace(status=self.otherwise) if verdict.status == Status.FAILS else verdict

    @property
    def printed(self) -> str:
        """The statement as printed, in LaTeX."""
        return self.tex or self._formula(self.claim)

    @property
    def corrections(self) -> list[str]:
        """The mended statement in LaTeX, where it is a formula; one for each head dimension that it is about."""
        if isinstance(self.corrected, ForHeads):
            formulas = self.corrected.formulas
            name = "M" if isinstance(formulas[max(formulas)], sympy.MatrixBase) else r"\mathcal{E}(l)"
            return [
                rf"\text{{head dimension {dims(dim)}: }} {name} = {latex(value)}" for dim, value in formulas.items()
            ]
        return [self._formula(self.corrected)] if self.left and self.corrected is not None else []

    @property
    def why(self) -> str:
        """The verdict's detail with what it is: a condition, a counterexample."""
        return f"{DETAILS[self.verdict.status]}: {self.verdict.detail}." if self.verdict.detail else ""

    @property
    def blame(self) -> str:
        """The fault that it commits, or those that it follows from, in words."""
        return blamed(self.fault, "; ".join(self.consequence_of))

    @property
    def words(self) -> str:
        """What is stated, for a line of text, with the formula where there is one."""
        return f"{self.says.rstrip('.:')}: {plain(self.claim)}" if self.left else self.says

    @property
    def mended_words(self) -> str:
        """What is right instead, for a line of text."""
        if isinstance(self.corrected, ForHeads):
            parts = [f"Head dimension {dims(dim)}: {plain(value)}." for dim, value in self.corrected.formulas.items()]
            return " ".join([self.mended, *parts])
        if self.left and self.corrected is not None:
            return f"{self.mended} Right: {plain(self.corrected)}."
        return self.mended

    def _formula(self, claim: Any) -> str:
        return f"{self.left} = {latex(claim)}"


class Step(NamedTuple):
    """A step of a derivation: in words, and a formula reached in two ways that must agree."""

    words: str
    left: str
    formula: Expr | Matrix
    again: Expr | Matrix

    def agrees(self) -> bool:
        """Whether the two ways do."""
        difference = Matrix([self.formula]) - Matrix([self.again])
        return all(is_zero(entry) for entry in difference)

    @property
    def tex(self) -> str:
        """The formula in LaTeX."""
        return f"{self.left} = {latex(self.formula)}"


class Proposition(NamedTuple):
    """What one file of ``theory.propositions`` holds: a title, where it stands, its entries and its derivation."""

    title: str
    where: str
    entries: list[Entry]
    derivation: Callable[[], list[Step]]


def blamed(fault: str, consequence_of: str) -> str:
    """What a failure goes back to, in words."""
    if fault:
        return f"Fault: {fault}."
    return f"Follows from: {consequence_of}." if consequence_of else ""


def latex(formula: Any) -> str:
    """A formula in LaTeX, with H_n for harmonic numbers."""
    last = sympy.Symbol("z")  # sorts after n, for n - H_n
    formula = sympy.sympify(formula).subs(H, last)
    return sympy.latex(formula, symbol_names={last: "H_n"}, mat_str="pmatrix", mat_delim="")


def plain(value: Expr) -> str:
    """A number or formula for a line of text: rationals as they are, algebraic numbers to six digits."""
    value = sympy.sympify(value)
    if isinstance(value, sympy.MatrixBase):
        return f"[{'; '.join(', '.join(plain(entry) for entry in row) for row in value.tolist())}]"
    if value.is_number and not value.is_rational:
        return str(sympy.N(value, 6))
    return (
        str(value).replace("harmonic(n)", "H_n").replace("varepsilon", "epsilon").replace("**", "^").replace("*", " ")
    )


def dims(head_dim: int) -> str:
    """Which heads a head dimension stands for: from 2 on they can all compute the same."""
    return f"{head_dim} or more" if head_dim > 1 else "1"
