"""What the commands that train, draw and judge share: their own keys, and how a grid of runs is written down."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, PositiveInt

from synthlab.config.registry import STRICT, validated
from synthlab.errors import InputError

Own = TypeVar("Own", bound="Settings")
Seeds = Annotated[int, Field(gt=0, le=10_000)]


class Settings(BaseModel):
    """The keys that are a command's, not its runs'; each is described in the command's file of ``conf/``."""

    model_config = STRICT
    workers: PositiveInt | None
    replot: bool
    results: str
    device: str

    @classmethod
    def of(cls: type[Own], raw: Mapping[str, Any]) -> Own:
        """Those among the keys of ``raw``; raises InputError."""
        return validated(cls, {key: raw[key] for key in cls.model_fields if key in raw}, "")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


def _as_member(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Values = Annotated[list[Any], Field(min_length=1)]
OneOrMore = BeforeValidator(_as_list)  # a grid, or several in a list
NameOrMember = BeforeValidator(_as_member)  # the name of a registry's member, or that with its arguments


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """One value of each setting of a grid, in every way."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def check_name(field: str, name: Any) -> None:
    """Refuse a name that is no part of a file's name."""
    if not re.fullmatch(r"[A-Za-z0-9_+-]+", str(name)):
        raise InputError(f"{field}: the name must consist of letters, digits, _, + and -")
