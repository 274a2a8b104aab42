"""Classes of the user's own: a hash of the source of each, which is part of the identity of the runs that name it.

An edited class is another class, so its runs are trained anew, and the records of the old one stay. The hash is that of
the syntax of the file that defines the class, and of the file that names it: comments and layout do not count, and
neither does what these files import. The lab's own classes have no hash, since the results version of their family
tells their changes apart; nor have torch's, since a record names the version of torch.
"""

import ast
import hashlib
import inspect
import linecache
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception, walk_tb
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


def is_user_class(name: Any) -> bool:
    """Return True if ``name`` is a class of the user, ``package.module:Class``."""
    return isinstance(name, str) and ":" in name and not is_lab_module(name.partition(":")[0])


def is_lab_module(module: str) -> bool:
    """Return True if a module is the lab's or torch's, by the place of its package where names may be the user's."""
    package = module.partition(".")[0]
    if package not in ("experiments", "theory", "classroom"):
        return package in ("synthlab", "torch")
    try:
        found = find_spec(package)
    except (ImportError, ValueError):
        return True
    return found is None or Path(found.origin or "").resolve().parents[1] in (ROOT.parent, ROOT / "packages")


@cache  # an imported class stays as it is, though its file may change
def hash_source(module: str, made: type) -> str:
    """Return eight digits that identify the source of a class, which a ``module`` names."""
    return _hash_files([made.__module__, module]) or _hash_cells(made)


def hash_current_source(field: str, name: str, made: type) -> str:
    """Return ``hash_source`` of a class that a run is about to use.

    Raises InputError if the class is not what its file says: the file was edited after this process imported it.
    """
    module = name.partition(":")[0]
    imported, present = hash_source(module, made), _hash_files([made.__module__, module])
    defined = _defined.get(made)
    if present and (present != imported or defined not in (None, _hash_files([made.__module__]))):
        raise InputError(
            f"{field}={name}: its file has changed since {module} was imported; restart Python, or importlib.reload it"
        )
    return imported


def _hash_files(modules: Iterable[str]) -> str | None:
    """Return the hash of the files of modules; None if none has one, as in a notebook, or if one cannot be read."""
    files = dict.fromkeys(getattr(sys.modules.get(module), "__file__", None) for module in modules)
    try:
        sources = [Path(file).read_text(encoding="utf-8") for file in files if file]
    except (OSError, UnicodeError):
        return None
    return _hash_texts(sources) if sources else None


def _hash_cells(made: type) -> str:
    """Return the hash of a notebook's cells that define the functions of a class and its bases."""
    bases = [each for each in made.__mro__ if each.__module__ == made.__module__]
    functions = [inspect.unwrap(value) for each in bases for value in vars(each).values() if inspect.isfunction(value)]
    cells = ["".join(linecache.getlines(each.__code__.co_filename)) for each in functions]
    if not cells or not all(cells):
        raise InputError(f"{made.__module__}:{made.__name__}: its source cannot be read; define it in a file")
    return _hash_texts(dict.fromkeys(cells))


def _hash_texts(sources: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(map(_drop_layout, sources)).encode()).hexdigest()[:8]


def _drop_layout(source: str) -> str:
    try:
        return ast.unparse(ast.parse(source))
    except SyntaxError:  # a file that has changed since it was imported
        return source


def user_classes(config: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the place, the name and the recorded hash of each class of the user in a run's plain ``config``.

    The place is the setting that names the class, such as ``encoding`` or ``protocol.optimizer``.
    """
    return (each for each in list_classes(config) if is_user_class(each[1]))


def list_classes(config: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str, str | None]]:
    """Yield the same of each ``package.module:Class``, those of the lab and of torch included."""
    for key in ("name", "optimizer"):
        name = config.get(key)
        if isinstance(name, str) and ":" in name:
            yield place if key == "name" else f"{place}.{key}", name, config.get(HASH)
    for key, value in config.items():
        for inner in cast(list[Any], value) if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from list_classes(cast(Mapping[str, Any], inner), f"{place}.{key}" if place else key)


@contextmanager
def note_user_classes(*configs: Mapping[str, Any]) -> Generator[None]:
    """Add a note to an exception of the block: the setting of the user's class that raised it, ``encoding=mine:Mine``.

    If none of the user's classes was running, the note has all: one may have returned what cannot be used.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        modules = {frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)}
        named = {f"{place}={name}": name.partition(":")[0] for each in configs for place, name, _ in user_classes(each)}
        if named and not hasattr(error, "__notes__"):
            running = [setting for setting, module in named.items() if module in modules]
            error.add_note(", ".join(running or named))
        raise


def format_user_traceback(error: BaseException) -> list[str]:
    """Return the lines of an error's traceback, from the first frame that is the user's own, if one is."""
    trace = error.__traceback__
    while trace is not None and _is_library(trace.tb_frame.f_globals.get("__name__", "")):
        trace = trace.tb_next
    return "".join(format_exception(type(error), error, trace or error.__traceback__)).splitlines()


def _is_library(module: str) -> bool:
    return is_lab_module(module) or module.partition(".")[0] in ("hydra", "__main__")
