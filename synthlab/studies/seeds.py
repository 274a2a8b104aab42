"""The number of seeds of a study's runs: a fixed number, or ``auto``, as many as its claims need."""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError

from synthlab.studies.intervals import FIRST

AUTO = "auto"
LOOKS = (FIRST, 10, 15, 20)  # seeds of a series under ``auto``: five, then more if a check is undecided
MOST = 10_000


def _check_seeds(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value != AUTO and not (is_number and 1 <= value <= MOST):
        allowed = {"auto": AUTO, "most": MOST}
        raise PydanticCustomError("seeds", "must be {auto}, or a whole number from 1 to {most}", allowed)
    return value


SeedCount = Annotated[int, Field(ge=1, le=MOST)]
Seeds = Annotated[int | Literal["auto"], PlainValidator(_check_seeds)]


def count_first(seeds: int | Literal["auto"]) -> int:
    """Return how many seeds each series begins with."""
    return LOOKS[0] if seeds == AUTO else seeds
