"""Checks of public functions' arguments against their annotations, before anything runs."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import cache, wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar, cast, get_args

from synthlab.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` with a check of each argument against its annotation before it runs.

    It raises InputError with a line for each problem; dimensions of one name must agree. Arguments are passed on
    unchanged. Arguments that do not match the signature still raise Python's TypeError.
    """
    signature = inspect.signature(function)
    kinds = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.annotation not in (parameter.empty, Any)
        and not isinstance(parameter.annotation, str)
        and parameter.kind != parameter.VAR_KEYWORD
    }
    shaped = any(hasattr(part, "dim_str") for kind in kinds.values() for part in (kind, *get_args(kind)))

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        with _shapes() if shaped else nullcontext():
            lines = [line for name in given if name in kinds for line in _check(name, given[name], kinds[name])]
        if lines:
            raise InputError(*lines)
        return function(*args, **kwargs)

    return call


def shorten(value: Any) -> str:
    """Return a value as errors show it: one line of at most 60 characters."""
    return f"{' '.join(repr(value).split()):.60}"


def read_list(field: str, values: Iterable[Item], most: int, must: str = "a list") -> list[Item]:
    """Return ``values`` as a list. Raises InputError if they are no list, or more than ``most``, without reading on."""
    try:
        found = list(islice(values, most + 1))
    except TypeError:
        raise InputError(f"{field}={shorten(values)}: must be {must}") from None
    if len(found) > most:
        raise InputError(f"{field}={shorten(values)}: must be at most {most:,}")
    return found


def _shapes() -> Any:
    """Return a jaxtyping scope of its own: a caller's dimensions may have the same names."""
    import jaxtyping

    return cast(Any, jaxtyping).jaxtyped("context")


def _check(name: str, value: Any, kind: Any) -> list[str]:
    """Return a line for each part of an argument that does not fit: ``lengths.1='a': must be a valid integer``."""
    from pydantic import ValidationError

    plain = value.tolist() if type(value).__module__ == "numpy" else list(value[:1]) if type(value) is range else value
    try:
        _adapter(kind).validate_python(plain)
    except ValidationError as error:
        found: dict[str, dict[str, None]] = {}
        for each in error.errors():  # one for each member of a union
            path = ".".join([name, *(str(part) for part in each["loc"] if isinstance(part, int))])
            must = each["msg"].removeprefix("Input should ")
            found.setdefault(f"{path}={shorten(each['input'])}", {})[must] = None
        return [f"{given}: must {' or '.join(musts)}" for given, musts in found.items()]
    return []


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(kind, config=ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False))
