"""The grid of a sweep: every combination of its overrides, checked before the first run is trained."""

import json
from collections.abc import Sequence
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from synthlab.errors import InputError
from synthlab.runs.composition import Composer, initialize_hydra, input_errors
from synthlab.runs.registry import show
from synthlab.runs.run import BOOKKEEPING, Run, bookkeeping, resolve, run_type

MAX_RUNS = 100_000  # the most runs of a sweep


class SweepGrid(NamedTuple):
    """The runs of a sweep, each once, and the settings that are not part of them (``results``, ``device``, ...)."""

    configs: list[Run]
    settings: dict[str, Any]


def grid(overrides: Sequence[str]) -> SweepGrid:
    """Return the runs that ``overrides`` stand for, in the syntax of Hydra's basic sweeper.

    Raises InputError with a line for each problem of any combination.
    """
    fixed, typed, swept = parse_sweep(overrides)
    for key, values in swept.items():
        if key.split(".")[0] in BOOKKEEPING and len(values) > 1:
            raise InputError(f"{key}={','.join(map(show, values))}: must be one for the whole sweep")
    composer = Composer(fixed)
    configs: dict[str, Run] = {}
    settings: dict[str, Any] = {}
    refused: dict[str, None] = {}
    known: dict[str, Run] = {}
    for values in product(*swept.values()):
        try:
            raw = composer.compose(dict(zip(swept, values, strict=True)))
            # Runs that differ only in their seeds are checked together.
            rest = json.dumps({key: raw[key] for key in raw if key not in Run.SEEDS}, sort_keys=True, default=str)
            config = known[rest].with_seeds(raw) if rest in known else resolve(raw)
            known.setdefault(rest, config)
            if len(swept.get("seed", ())) > 1:
                run_type(raw["family"]).check_depends_on_seed(raw, typed["seed"])
            configs[config.id] = config
            settings = bookkeeping(raw)
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))
    if refused:
        raise InputError(*refused)
    return SweepGrid(list(configs.values()), settings)


def parse_sweep(overrides: Sequence[str]) -> tuple[list[str], dict[str, str], dict[str, list[Any]]]:
    """Return the overrides of a sweep: those with one value; by key, those with several, as typed and as values.

    Hydra parses them. The last one of a key holds, as on any command line. Raises InputError for more combinations than
    a sweep can have, and for a key without any value.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    with input_errors(overrides), initialize_hydra() as loader:
        last = {each.get_key_element(): each for each in OverridesParser.create(loader).parse_overrides([*overrides])}
        several = {key: each for key, each in last.items() if each.is_sweep_override()}
        for each in several.values():
            if each.is_interval_sweep():
                raise InputError(f"{each.input_line}: an interval has no list of values; give range(START,STOP,STEP)")
        swept = {
            key: list(map(each._convert_value, islice(each.sweep_iterator(), MAX_RUNS + 1)))
            for key, each in several.items()
        }
    typed = {key: str(each.input_line) for key, each in several.items()}
    if not all(swept.values()):
        raise InputError(*(f"{typed[key]}: has no value" for key, values in swept.items() if not values))
    if prod(map(len, swept.values())) > MAX_RUNS:
        widest = max(swept, key=lambda key: len(swept[key]))
        raise InputError(f"{typed[widest]}: too many runs; a sweep has at most {MAX_RUNS:,}: split it")
    return [str(each.input_line) for key, each in last.items() if key not in several], typed, swept
