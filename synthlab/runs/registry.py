"""Registries: a name in a config group stands for a class, the group's other keys for its constructor's arguments.

A class outside the registry is named ``package.module:Class``. Names, keys and types are checked before anything is
built; all problems are reported at once.
"""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from synthlab.errors import InputError, format_error
from synthlab.runs.sources import HASH, hash_current_source, hash_source, is_user_class, list_classes, user_classes

Member = TypeVar("Member")
Schema = TypeVar("Schema", bound=BaseModel)

MISSING_MESSAGE = "missing; must be given"
MAX_SHOWN = 200  # the most characters of a value in an error
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Registry(dict[str, type[Member]], Generic[Member]):
    """The classes of a config group, by name. To add a member, add one line to the dictionary that it is made from."""

    def __init__(self, group: str, base: type[Member], members: Mapping[str, type[Member]]):
        super().__init__(members)
        self.group, self.base = group, base

    def find(self, name: Any, field: str | None = None) -> type[Member]:
        """Return the class called ``name``. Raises InputError, with the choices, for an unknown name."""
        field = field or self.group
        if isinstance(name, str) and name in self:
            return self[name]
        if isinstance(name, str) and ":" in name:
            found = find_class(name, field)
            if not (isinstance(found, type) and issubclass(found, self.base)):
                raise InputError(f"{field}={name}: must be a subclass of {self.base.__module__}.{self.base.__name__}")
            return found
        raise InputError(describe_unknown(field, name, self))

    def check(self, config: Any, field: str | None = None) -> tuple[type[Member], dict[str, Any]]:
        """Return the class that ``config`` names, and its arguments, checked and converted to the declared types."""
        field = field or self.group
        if not isinstance(config, Mapping) or "name" not in config:
            raise InputError(f"{field}={show(config)}: must be a mapping with a name; choose from {', '.join(self)}")
        given = {key: value for key, value in cast(Mapping[str, Any], config).items() if key not in ("name", HASH)}
        made = self.find(config["name"], field)
        arguments = dict(iter(validate(_schema(made), given, field)))  # iter: an argument may be named keys
        registries = getattr(made, "REGISTRIES", {})  # of arguments that name no member of this one
        for key, value in arguments.items():
            if _is_member(value) or (key in registries and value is not None):  # such as the inner encoding of another
                arguments[key] = registries.get(key, self).complete(value, f"{field}.{key}")
            elif isinstance(value, list) and all(map(_is_member, cast(list[Any], value))):  # such as encodings by layer
                members = enumerate(cast(list[Any], value))
                arguments[key] = [self.complete(each, f"{field}.{key}.{place}") for place, each in members]
        return made, arguments

    def complete(self, config: Any, field: str | None = None) -> dict[str, Any]:
        """Return ``config``, checked, with defaults filled in.

        Earlier records lack the arguments that a class lists as ``ADDED``, so these are left out at their defaults. A
        class of the user has the hash of its source too (``sources``), as it is now.
        """
        made, arguments = self.check(config, field)
        for key in getattr(made, "ADDED", ()):
            if key in arguments and arguments[key] == _schema(made).model_fields[key].default:
                del arguments[key]
        member = {"name": config["name"], **arguments}
        return self.with_source(member, field or self.group)

    def with_source(self, member: dict[str, Any], field: str) -> dict[str, Any]:
        """Return a member with the hash of its source if its class is the user's."""
        name = member["name"]
        if not is_user_class(name):
            return member
        return {**member, HASH: hash_current_source(field, name, self.find(name, field))}

    def build(self, config: Any, *args: Any, field: str | None = None) -> Member:
        """Return an instance of the class that ``config`` names. ``args`` are further arguments, such as sizes."""
        made, arguments = self.check(config, field)
        try:
            return made(*args, **arguments)
        except TypeError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # raised within the constructor
                raise
            given = f"{field or self.group}={config['name']}"
            raise InputError(f"{given}: cannot be made ({error}); docs/extending.md says how it is called") from None


def _is_member(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value


def complete_members(registries: Mapping[str, Registry[Any]], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Complete the members of several groups, given by field. Raises InputError with the problems of all of them."""
    members: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for field, member in given.items():
        try:
            members[field] = registries[field].complete(member, field)
        except InputError as error:
            problems += error.lines
    if problems:
        raise InputError(*problems)
    return members


def require_imported(config: Mapping[str, Any]) -> None:
    """Raise InputError for a class that a record's plain ``config`` names and whose module is not imported.

    Whoever wrote the record must not choose what this process runs.
    """
    for place, name, _ in list_classes(config):
        module = name.partition(":")[0]
        if module not in sys.modules:
            first = f"in Python, import {module} first"
            raise InputError(f"{place}={name}: is not imported, and reading a record imports nothing; {first}")


def validate(schema: type[Schema], given: Any, field: str) -> Schema:
    """Return ``given`` as a ``schema``. Raises InputError with one line for each problem, named below ``field``."""
    if not isinstance(given, Mapping):
        raise InputError(f"{field}={show(given)}: must be a mapping with the keys {', '.join(schema.model_fields)}")
    try:
        return schema(**given)
    except ValidationError as error:
        raise InputError(*(line for each in error.errors() for line in _describe(each, schema, field))) from None


def describe_unknown(field: str, value: Any, choices: Iterable[str]) -> str:
    """Return the error line for a value that is none of ``choices``."""
    return f"{field}={show(value)}: unknown{did_you_mean(value, choices)}; choose from {', '.join(choices)}"


def key_of(override: str) -> str:
    """Return the key of an override, ``key=value``, without a sign before it."""
    return override.lstrip("+~").partition("=")[0]


def first_key(override: str) -> str:
    """Return the first part of the key of an override: ``protocol`` of ``++protocol.lr=1``."""
    return re.split(r"[=./@]", override.lstrip("+~"))[0]


def describe_unknown_key(given: str, choices: Sequence[str]) -> str:
    """Return the error line for ``given`` (``key=value``), where the last part of the key is none of ``choices``."""
    key = key_of(given)
    allowed = f"choose from {', '.join(choices)}" if choices else "there are none but name"
    return f"{given}: unknown key{did_you_mean(key.split('.')[-1], choices)}; {allowed}"


def show(value: Any) -> str:
    """Return a value as the command line would write it, shortened: ``null``, ``true``, text without quotes."""
    text = json.dumps(value) if value is None or isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def did_you_mean(name: Any, choices: Iterable[Any]) -> str:
    """Return ``', did you mean X?'`` if a choice is close to ``name``, else an empty string."""
    close = get_close_matches(show(name), [str(choice) for choice in choices], n=1)
    return f", did you mean {close[0]}?" if close else ""


def _describe(problem: Any, schema: type[BaseModel], field: str) -> list[str]:
    """Return the error lines for a problem that pydantic has found."""
    path = ".".join([field] * bool(field) + [str(part) for part in problem["loc"]])
    raised = problem.get("ctx", {}).get("error")
    if isinstance(raised, InputError):  # of several settings of a part of the config, which do not fit each other
        return [f"{path}.{line}" if path else line for line in raised.lines]
    if problem["type"] == "missing":
        return [f"{path}: {MISSING_MESSAGE}"]
    value = show(problem["input"])
    if problem["type"] == "extra_forbidden":
        return [describe_unknown_key(f"{path}={value}", _keys(schema, problem["loc"][:-1]))]
    return [f"{path}={value}: {problem['msg'].removeprefix('Value error, ').replace('Input should', 'must')}"]


def _keys(schema: type[BaseModel], parents: Iterable[str]) -> list[str]:
    """Return the keys allowed below ``parents`` in a schema of models, optional ones, and of dictionaries of models."""
    part: Any = schema
    for parent in parents:
        part = part.model_fields[parent].annotation if hasattr(part, "model_fields") else get_args(part)[1]
        part = get_args(part)[0] if type(None) in get_args(part) else part
    return list(part.model_fields)


@cache
def _schema(cls: type[Any]) -> type[BaseModel]:
    """Return a model of the constructor's keyword arguments.

    Positional-only arguments are left out: the program supplies them, not the config.
    """
    parameters = inspect.signature(cls).parameters.values()
    fields: dict[str, Any] = {
        p.name: (Any if p.annotation is p.empty else p.annotation, ... if p.default is p.empty else p.default)
        for p in parameters
        if p.kind not in (p.POSITIONAL_ONLY, p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    return create_model(cls.__name__, __config__=STRICT, **fields)


def find_class(name: str, field: str) -> Any:
    """Return the class that ``package.module:Class`` names, unchecked. Raises InputError if it cannot be imported."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module can fail in any way
        reason = format_error(error)
        raise InputError(f"{field}={name}: cannot be imported ({reason}); give package.module:Class") from None


def find_changed_classes(config: Mapping[str, Any]) -> list[str]:
    """Return each class of the user whose source is not that of a run's plain ``config``, as ``encoding=mine:Mine``.

    Raises InputError for a class that cannot be imported.
    """
    return [
        f"{place}={name}"
        for place, name, was in user_classes(config)
        if hash_source(name.partition(":")[0], find_class(name, place)) != was
    ]
