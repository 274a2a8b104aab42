"""The grid of a sweep: every combination of its overrides, checked before the first run is trained."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from math import ceil, prod
from typing import Any, NamedTuple

from synthlab.config.base import BOOKKEEPING, Config, bookkeeping, kind_of, resolve
from synthlab.config.composition import Composed, compose, compose_raw, initialize_hydra, to_plain
from synthlab.config.families import CLASS
from synthlab.config.hydra_errors import input_errors
from synthlab.errors import InputError

MOST = 100_000  # the most runs of a sweep

Compose = Callable[[Sequence[str]], dict[str, Any]]


class SweepGrid(NamedTuple):
    """The runs of a sweep, each once, and the settings that are not part of them (``results``, ``device``, ...)."""

    configs: list[Config]
    settings: dict[str, Any]


class Swept(NamedTuple):
    """An override of a sweep as typed, its key, the single overrides that it stands for, and their values."""

    given: str
    key: str
    choices: list[str]
    values: list[Any]


def grid(overrides: Sequence[str]) -> SweepGrid:
    """Return the runs that ``overrides`` stand for, in the syntax of Hydra's basic sweeper.

    Raises InputError with a line for each problem of any combination.
    """
    parts = parts_of(list(overrides))
    for part in parts:
        if not part.choices:
            raise InputError(f"{part.given}: has no value")
        if part.key.split(".")[0] in BOOKKEEPING and len(part.choices) > 1:
            raise InputError(f"{part.key}={','.join(map(str, part.values))}: must be one for the whole sweep")
    seeds = next((part.given for part in parts if part.key == "seed" and len(part.choices) > 1), None)
    make = _maker(parts)
    configs: dict[str, Config] = {}
    settings: dict[str, Any] = {}
    refused: dict[str, None] = {}
    known: dict[str, Config] = {}
    for job in product(*(part.choices for part in parts)):
        try:
            raw = make(job)
            config = _resolve(raw, known)
            if seeds is not None:
                kind_of(raw).check_follows(raw, seeds)
            configs[config.id] = config
            settings = bookkeeping(raw)
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))
    if refused:
        raise InputError(*refused)
    return SweepGrid(list(configs.values()), settings)


def parts_of(overrides: list[str]) -> list[Swept]:
    """Return the overrides, expanded one by one. Raises InputError for more combinations than a sweep can have."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.override_parser.overrides_parser import OverridesParser

    with input_errors(overrides), initialize_hydra():
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        parsed = parser.parse_overrides(overrides)
        runs = prod(map(_length, parsed))
        if runs > MOST:
            widest = max(parsed, key=_length)
            raise InputError(f"{widest.input_line}: {runs:,} runs; a sweep has at most {MOST:,}: split it")
        parts = []
        for each in parsed:
            batches = BasicSweeper.split_arguments([each], max_batch_size=None)
            choices = [_unescape(job[0]) for batch in batches for job in batch]
            values = [choice.value() for choice in parser.parse_overrides(choices)]
            parts.append(Swept(str(each.input_line), each.get_key_element().lstrip("+~"), choices, values))
    return parts


def _unescape(choice: str) -> str:
    """Return an override as it was typed if its value is a class ``package.module:Class``.

    Hydra escapes the colon.
    """
    typed = choice.replace("\\:", ":")
    return typed if CLASS.fullmatch(typed.partition("=")[2]) else choice


def _length(override: Any) -> int:
    """Return how many values an override stands for, without listing ranges."""
    if not override.is_sweep_override():
        return 1
    value = override.value()
    if override.is_range_sweep():
        return max(0, ceil((value.stop - value.start) / value.step)) if value.step else 1
    return len(getattr(value, "list", [0]))


def _maker(parts: Sequence[Swept]) -> Compose:
    """Return a function that composes the config of a combination from its overrides.

    Hydra takes 50 ms for one. So Hydra composes only the first, and the others are derived from it in microseconds, if
    each override sets a key of its own to a plain value and no value refers to another.
    """

    def compose_run(job: Sequence[str]) -> dict[str, Any]:
        return compose(list(job))

    swept = {part.key: index for index, part in enumerate(parts) if len(part.choices) > 1}
    first = [part.choices[0] for part in parts]
    if not swept or len({part.key for part in parts}) < len(parts) or not all(map(_is_plain, parts)):
        return compose_run
    try:
        base = Composed(compose(first), {part.key: part.choices[0] for part in parts if len(part.choices) == 1})
    except InputError:
        return compose_run
    groups = [index for key, index in swept.items() if isinstance(base.config.get(key), dict)]
    members = [[*first[:index], each, *first[index + 1 :]] for index in groups for each in parts[index].choices[1:]]
    if any(map(_has_references, [first, *members])):
        return compose_run
    values = {key: dict(zip(parts[index].choices, parts[index].values, strict=True)) for key, index in swept.items()}

    def replace_values(job: Sequence[str]) -> dict[str, Any]:
        try:
            return base.with_settings({key: values[key][job[index]] for key, index in swept.items()})
        except InputError:
            return compose_run(job)  # it words the problem as for a single run

    return replace_values


def _is_plain(part: Swept) -> bool:
    """Return True if an override sets its key to values that are neither collections nor references."""
    texts = all(text[:1].isalpha() and "${" not in text and "???" not in text for text in part.choices)
    return (
        texts and "@" not in part.key and all(isinstance(each, bool | int | float | str | None) for each in part.values)
    )


def _has_references(job: list[str]) -> bool:
    """Return True if a value of the run that Hydra composes refers to another."""
    try:
        with input_errors(job):
            raw = to_plain(compose_raw(job), resolve=False)
    except InputError:
        return False  # it is refused when its turn comes
    return "${" in json.dumps({key: value for key, value in raw.items() if key not in BOOKKEEPING}, default=str)


def _resolve(raw: dict[str, Any], known: dict[str, Config]) -> Config:
    """Return the run that ``raw`` describes; runs that differ only in their seeds are checked together."""
    settings = {key: value for key, value in raw.items() if key not in Config.SEEDS}
    rest = json.dumps(settings, sort_keys=True, default=str)
    if rest not in known:
        known[rest] = resolve(raw)
        return known[rest]
    return known[rest].with_seeds(raw)
