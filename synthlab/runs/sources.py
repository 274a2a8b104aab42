"""Classes of the user's own: a hash of the source of each, which is part of the identity of the runs that name it.

An edited class is another class, so its runs are trained anew, and the records of the old one stay. The hash is that of
the syntax tree of the file that defines the class, and of the file that names it: comments and layout do not count, and
neither does what these files import. The lab's own classes have no hash, since the results version of their family
tells their changes apart; nor have torch's, since a record names the version of torch and it is no part of an identity.
"""

import ast
import hashlib
import inspect
import linecache
import marshal
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception, walk_tb
from types import CodeType
from typing import Any, cast

from synthlab.errors import InputError

HASH = "source_hash"  # the key beside the name of a class of the user
ROOT = Path(__file__).resolve().parents[1]  # of the package; packages of the lab lie beside it, or in ``packages``


_defined: dict[type, Any] = {}  # the hash of the file of each class of the user, when the class was defined


class Sourced:
    """A base of the classes that users subclass: the source of each one's file is remembered when it is defined."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] != "synthlab":
            _defined[cls] = _hash_files([cls.__module__])


def is_own(name: Any) -> bool:
    """Return True if ``name`` is a class of the user, ``package.module:Class``."""
    return isinstance(name, str) and ":" in name and not is_labs(name.partition(":")[0])


def is_labs(module: str) -> bool:
    """Return True if a module is the lab's or torch's, by the place of its package where names may be the user's."""
    package = module.partition(".")[0]
    if package not in ("experiments", "theory", "classroom"):
        return package in ("synthlab", "torch")
    try:
        found = find_spec(package)
    except (ImportError, ValueError):
        return True
    return found is None or Path(found.origin or "").resolve().parents[1] in (ROOT.parent, ROOT / "packages")


def hash_source(name: str, made: type) -> str:
    """Return eight digits that identify the source of the class that ``name`` stands for."""
    return _hash_imported(name.partition(":")[0], made)


@cache  # an imported class stays as it is, though its file may change
def _hash_imported(module: str, made: type) -> str:
    return _hash_files([made.__module__, module]) or _hash_without_file(made)


def hash_present_source(field: str, name: str, made: type) -> str:
    """Return ``hash_source`` of a class that a run is about to use.

    Raises InputError if the class is not what its file says: the file was edited after this process imported it.
    """
    module = name.partition(":")[0]
    imported, present = hash_source(name, made), _hash_files([made.__module__, module])
    defined = _defined.get(made)
    if present and (present != imported or defined not in (None, _hash_files([made.__module__]))):
        raise InputError(
            f"{field}={name}: its file has changed since {module} was imported; restart Python, or importlib.reload it"
        )
    return imported


def _hash_files(modules: Iterable[str]) -> str | None:
    """Return the hash of the files of modules; None if none has one, as in a notebook, or if one cannot be read."""
    named = (getattr(sys.modules.get(module), "__file__", None) for module in modules)
    try:
        trees = [_read_tree(Path(file).read_bytes()) for file in dict.fromkeys(named) if file]
    except OSError:
        return None
    return _digest(trees if len(trees) > 1 else trees[0]) if trees else None


def _read_tree(source: str | bytes) -> Any:
    try:
        return _plain(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return source


def _digest(source: Any) -> str:
    return hashlib.sha256(repr(source).encode(errors="backslashreplace")).hexdigest()[:8]


def _plain(node: Any) -> Any:
    """Return a syntax tree as nested lists, without what is empty: versions of Python differ in that alone."""
    if isinstance(node, ast.AST):
        fields = [(name, _plain(value)) for name, value in ast.iter_fields(node) if value is not None and value != []]
        return [type(node).__name__, fields]
    return [_plain(each) for each in cast(list[Any], node)] if isinstance(node, list) else repr(node)


def _hash_without_file(made: type) -> str:
    """Return the hash of a notebook's cells that define a class and its bases; without cells, of the compiled code."""
    bases = [each for each in made.__mro__ if each.__module__ == made.__module__]
    codes = [code for each in bases for code in _codes_of(each)]
    cells = ["".join(linecache.getlines(file)) for file in dict.fromkeys(code.co_filename for code in codes)]
    if codes and all(cells):
        return _digest([_read_tree(cell) for cell in cells])
    members = [(key, value) for each in bases for key, value in sorted(vars(each).items())]
    values = [(key, repr(value)) for key, value in members if type(value) in (bool, int, float, str, tuple)]
    return _digest([*(marshal.dumps(code.replace(co_filename="")) for code in codes), *values])


def _codes_of(made: type) -> list[CodeType]:
    """Return the code of the functions, methods and properties that a class defines itself."""
    found: list[Any] = []
    for _, value in sorted(vars(made).items()):
        found += [value.fget, value.fset] if isinstance(value, property) else [getattr(value, "__func__", value)]
    codes = [getattr(inspect.unwrap(each), "__code__", None) for each in found if callable(each)]
    return [code for code in codes if isinstance(code, CodeType)]


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


@contextmanager
def name_own_classes(*configs: Mapping[str, Any]) -> Generator[None]:
    """Add a note to an exception of the block: the setting of the user's class that raised it, ``encoding=mine:Mine``.

    If none of the user's classes was running, the note has all: one may have returned what cannot be used.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        modules = {frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)}
        named = {f"{place}={name}": name.partition(":")[0] for each in configs for place, name, _ in own_classes(each)}
        if named and not hasattr(error, "__notes__"):
            running = [setting for setting, module in named.items() if module in modules]
            error.add_note(", ".join(running or named))
        raise


def format_own_traceback(error: BaseException) -> list[str]:
    """Return the lines of an error's traceback, from the first frame that is the user's own, if one is."""
    trace = error.__traceback__
    while trace is not None and _is_behind(trace.tb_frame.f_globals.get("__name__", "")):
        trace = trace.tb_next
    return "".join(format_exception(type(error), error, trace or error.__traceback__)).splitlines()


def _is_behind(module: str) -> bool:
    return is_labs(module) or module.partition(".")[0] in ("hydra", "__main__")
