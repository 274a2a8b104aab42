"""Checks of public functions' arguments against their annotations, before anything runs."""

import inspect
import os
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import cache, wraps
from itertools import islice
from numbers import Integral, Real
from reprlib import Repr
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, cast, get_args, get_origin

from synthlab.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")

PATH = os.PathLike[str]
WORDS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"} | {
    PATH: "a path",
    os.PathLike: "a path",
    None: "None",
    type(None): "None",
}
SEVERAL: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "texts", int | float: "numbers", Any: "items"}
DTYPES = {"Int": "integers", "Float": "floats", "Real": "numbers", "Bool": "truth values"}
_UNFIT = object()
_repr = Repr()
_repr.maxlevel, _repr.maxstring, _repr.maxother, _repr.maxlong = 3, 40, 60, 40


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` with a check of each argument against its annotation before it runs.

    It raises InputError with a line for each argument that does not fit; dimensions of one name must agree. Arguments
    are passed on unchanged. Arguments that do not match the signature still raise Python's TypeError.
    """
    signature = inspect.signature(function)
    kinds = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.annotation not in (parameter.empty, Any)
        and not isinstance(parameter.annotation, str)
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    shaped = any(hasattr(part, "dim_str") for kind in kinds.values() for part in (kind, *get_args(kind)))

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # raises the TypeError that names missing or excess arguments
        with _shapes() if shaped else nullcontext():
            lines = [_problem(name, given[name], kind) for name, kind in kinds.items() if name in given]
        refused = [line for line in lines if line is not None]
        if refused:
            raise InputError(*refused)
        return function(*args, **kwargs)

    return call


def shorten(value: Any) -> str:
    """Return a value as errors show it: one line of at most 60 characters, however large or deep it is."""
    try:
        text = _repr.repr(value)
    except Exception:  # a user's class may raise anything
        text = f"<{type(value).__name__}>"
    return f"{' '.join(text.split()):.60}"


def read_list(field: str, values: Iterable[Item], most: int, must: str = "a list") -> list[Item]:
    """Return ``values`` as a list. Raises InputError if they are no list, or more than ``most``, without reading on."""
    try:
        found = list(islice(values, most + 1))
    except Exception:  # not iterable, or a user's class raised
        raise InputError(f"{field}={shorten(values)}: must be {must}") from None
    if len(found) > most:
        raise InputError(f"{field}={shorten(values)}: must be at most {most:,}")
    return found


def _shapes() -> Any:
    """Return a jaxtyping scope of its own: a caller's dimensions may have the same names."""
    import jaxtyping

    return cast(Any, jaxtyping).jaxtyped("context")


def _problem(name: str, value: Any, kind: Any) -> str | None:
    """Return the error line for a value; None if it fits."""
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(_to_plain(value, kind))
    except ValidationError as error:
        ranges = {each["msg"] for each in error.errors(include_input=False) if each["type"] in BOUNDS}
        bounds = " and ".join(sorted(ranges)).replace("Input should", "must")
        return f"{name}={shorten(value)}: {bounds or f'must be {_words(kind)}'}"
    except Exception:  # a user's class may raise anything when inspected
        return f"{name}={shorten(value)}: must be {_words(kind)}"
    return None


BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(kind, config=ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False))


def _to_plain(value: Any, kind: Any) -> Any:
    """Return the value as pydantic takes it: NumPy's numbers as Python's, and its arrays and ranges as lists."""
    if isinstance(value, bool):
        return value
    if _words(kind).startswith(("a number", "a whole number")) and hasattr(value, "dim"):
        return _UNFIT  # a tensor is no number, though pydantic accepts one
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        with suppress(Exception):
            return float(value)
    if isinstance(value, range):
        return list(value[:1])  # all are of one type
    if type(value).__module__ == "numpy":
        return getattr(value, "tolist", lambda: value)()
    return value


def _words(kind: Any) -> str:
    """Return, in words, which values fit an annotation."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in WORDS:
        return WORDS[kind]
    if origin in (Union, types.UnionType):
        texts = list(dict.fromkeys(map(_words, inner)))
        return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
    if origin is Literal:
        return " or ".join(map(str, inner))
    if origin is Annotated:
        return _words(inner[0])
    if origin is not None and issubclass(origin, Callable):
        return "a function"
    if origin is not None and issubclass(origin, Iterable):
        if issubclass(origin, Sequence) or len(inner) == 1:
            return f"a list of {SEVERAL.get(inner[0], _words(inner[0]))}"
        return "a mapping"
    if hasattr(kind, "dim_str"):  # an array annotation of jaxtyping
        return f"a tensor of {DTYPES.get(kind.dtype.__name__, 'numbers')} of shape [{', '.join(kind.dim_str.split())}]"
    return f"a {kind.__name__}"
