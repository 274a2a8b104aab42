"""Classes of the user's own: a hash of the source of each, which is part of the identity of the runs that name it.

An edited class is another class, so its runs are trained anew, and the records of the old one stay. The hash is that of
the syntax tree of the file that defines the class: comments and layout do not count, and neither does what that file
imports. The lab's own classes have no hash, since the results version of their family tells their changes apart; nor
have torch's, since a record names the version of torch and it is no part of a run's identity.
"""

import ast
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from synthlab.errors import InputError

HASH = "source_hash"  # the key beside the name of a class of the user
EXEMPT = ("synthlab", "experiments", "theory", "classroom", "torch")  # packages whose classes have no hash


def is_own(name: Any) -> bool:
    """Return True if ``name`` is a class of the user, ``package.module:Class``."""
    return isinstance(name, str) and ":" in name and name.partition(":")[0].split(".")[0] not in EXEMPT


@cache  # an imported class stays as it is, though its file may change
def hash_source(made: type) -> str:
    """Return eight digits that identify the source of a class: its whole file, or its own functions without a file."""
    try:
        return _hash_file(inspect.getfile(made))
    except (OSError, TypeError, ValueError, SyntaxError):  # defined in a notebook, or compiled
        functions = {name: _read_function(each) for name, each in sorted(vars(made).items()) if inspect.isroutine(each)}
        return _digest(functions)


def check_imported(field: str, name: str, made: type) -> None:
    """Raise InputError if the file of a class has changed since this process imported it, as in a notebook."""
    known = hash_source(made)
    try:
        present = _hash_file(inspect.getfile(made))
    except (OSError, TypeError, ValueError, SyntaxError):
        return
    if present != known:
        module = made.__module__
        raise InputError(
            f"{field}={name}: its file has changed since {module} was imported; restart Python, or importlib.reload it"
        )


def _hash_file(path: str) -> str:
    return _digest(_plain(ast.parse(Path(path).read_text(encoding="utf-8"))))


def _digest(source: Any) -> str:
    return hashlib.sha256(repr(source).encode(errors="backslashreplace")).hexdigest()[:8]


def _plain(node: Any) -> Any:
    """Return a syntax tree as nested lists, without what is empty: versions of Python differ in that alone."""
    if isinstance(node, ast.AST):
        fields = [(name, _plain(value)) for name, value in ast.iter_fields(node) if value is not None and value != []]
        return [type(node).__name__, fields]
    return [_plain(each) for each in cast(list[Any], node)] if isinstance(node, list) else repr(node)


def _read_function(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(code and (code.co_code, code.co_names))


def own_classes(config: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str, str | None]]:
    """Yield the place, the name and the recorded hash of each class of the user in a run's plain ``config``.

    The place is the setting that names the class, such as ``encoding`` or ``protocol.optimizer``.
    """
    for key in ("name", "optimizer"):
        if is_own(config.get(key)):
            yield place if key == "name" else f"{place}.{key}", config[key], config.get(HASH)
    for key, value in config.items():
        for inner in cast(list[Any], value) if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from own_classes(cast(Mapping[str, Any], inner), f"{place}.{key}" if place else key)


def without_sources(config: Any) -> Any:
    """Return a plain config without the hashes of sources: it is the same for all sources of its classes."""
    if isinstance(config, list):
        return [without_sources(each) for each in cast(list[Any], config)]
    if not isinstance(config, Mapping):
        return config
    values = cast(Mapping[str, Any], config)
    own = any(is_own(values.get(key)) for key in ("name", "optimizer"))
    return {key: without_sources(value) for key, value in values.items() if not (own and key == HASH)}
