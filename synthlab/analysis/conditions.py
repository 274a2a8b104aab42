"""Conditions on runs: ``task=length,sum train_length>=20 encoding!=nope``, all of which must be true."""

import operator
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from synthlab.errors import InputError
from synthlab.runs.registry import did_you_mean, show

COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
OPERATORS = ("=", "!=", *COMPARISONS)
Where = str | Iterable[str] | Mapping[str, Any] | None


class Condition(NamedTuple):
    """A condition on a column of the table of runs: a comparison with one value, or with several alternatives."""

    column: str
    operator: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.column}{self.operator}{','.join(self.values)}"

    def holds(self, value: Any) -> bool:
        """Return True if a value fulfils the condition. A missing value is ``null``; of several tags one must match."""
        if self.column == "tag" and isinstance(value, str) and "," in value:
            tags = map(self.holds, value.split(","))
            return all(tags) if self.operator == "!=" else any(tags)
        number = None if isinstance(value, str) else _number(value)  # an identity such as 12e45 is no number
        if self.operator in ("=", "!="):
            numbers = [] if number is None else [float(text) for text in self.values if _number(text) is not None]
            equal = to_text(value) in self.values or number in numbers
            return equal == (self.operator == "=")
        return number is not None and COMPARISONS[self.operator](number, float(self.values[0]))

    def mask(self, column: pd.Series) -> np.ndarray:
        """Return, for each row, True if ``column`` fulfils the condition."""
        codes, distinct = pd.factorize(column.astype(object), use_na_sentinel=False)
        return np.array([self.holds(value) for value in distinct], dtype=bool)[codes]


def conditions(where: Where) -> list[Condition]:
    """Return the conditions in ``where``: texts of one or more, or a mapping from columns to one value or several.

    Raises InputError for invalid conditions.
    """
    if isinstance(where, Mapping):
        return [Condition(str(name), "=", _to_texts(value)) for name, value in where.items()]
    texts = [where] if isinstance(where, str) else where or ()
    return [_condition(word) for text in texts for word in str(text).split()]


def check(condition: Condition, columns: Collection[str]) -> None:
    """Raise InputError if ``columns`` lack the condition's column."""
    if condition.column not in columns:
        close = did_you_mean(condition.column, columns)
        raise InputError(f"where={show(str(condition))}: unknown column{close}; choose from {', '.join(columns)}")


def _condition(word: str) -> Condition:
    match = re.fullmatch(r"([\w.:@-]+?)(!=|>=|<=|=|>|<)(?!=)(.*)", word)
    if not match:
        raise InputError(f"where={show(word)}: cannot be read; write column=value, with {' '.join(OPERATORS)}")
    column, sign, text = match.groups()
    values = tuple(text.split(","))
    if sign in COMPARISONS and (len(values) > 1 or _number(text) is None):
        raise InputError(f"where={show(word)}: {sign} takes one number")
    return Condition(column, sign, values)


def _to_texts(value: Any) -> tuple[str, ...]:
    """Return one value or several as they are written on a command line."""
    return tuple(map(to_text, [value] if isinstance(value, str) or not isinstance(value, Iterable) else value))


def _number(value: Any) -> float | None:
    """Return ``value`` as a number; None if it is none, or a truth value."""
    if isinstance(value, bool | np.bool_) or value is pd.NA or "_" in str(value):  # 1_000 is no number here
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(number) else number


def to_text(value: Any) -> str:
    """Return a value as it is written on a command line: ``null``, ``true``, text without quotes."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "null"
    return show(bool(value)) if isinstance(value, bool | np.bool_) else str(value)
