"""Build the model of a config, and check the config before anything runs."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

from torch import nn

from synthlab.config.registry import Registry, asking
from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import encoding_of
from synthlab.models.language_model import MODELS
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.problem import Problem
from synthlab.sequences.problems import PROBLEMS
from synthlab.training.memory import check_buildable

KINDS: dict[str, Registry[Any]] = {"problem": PROBLEMS, "encoding": ENCODINGS, "model": MODELS, "positions": SAMPLERS}


def resolve(raw: Mapping[str, Any]) -> SequencesConfig:
    """The complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    config = SequencesConfig.checked(raw)
    sampler = config.positions
    if "factor" in sampler and sampler["factor"] is None:
        sampler = {**sampler, "factor": _factor(config)}
    problems, members = [], {}
    for field, kind in KINDS.items():
        try:
            members[field] = kind.complete(sampler if field == "positions" else getattr(config, field), field)
        except InputError as error:
            problems += error.lines
    if problems:
        raise InputError(*problems)
    problem = build_problem(members["problem"])
    with asking("problem", members["problem"]["name"], "say its lengths"):
        shortest = problem.shortest
    filled: dict[str, Any] = {"train_from": shortest if config.train_from is None else config.train_from}
    if config.bins is None:
        filled["bins"] = [
            each for each in default_bins(config.train_length, config.test_length) if problem.lengths(*each)
        ]
    config = SequencesConfig.checked(config.model_dump() | members | filled)
    _check_lengths(config, problem)
    _check_bins(config, problem)
    _check_training(config)
    check_buildable(config)
    _check_positions(config, problem, build_models([config]))
    return config


def build_problem(member: Mapping[str, Any]) -> Problem:
    """The task that the config group ``problem`` names. Raises InputError."""
    return PROBLEMS.build(member)


def build_models(configs: Sequence[SequencesConfig]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    first = configs[0]
    make_encoding = partial(ENCODINGS.build, first.encoding)
    generators = [stream(config.seed, "initial") for config in configs]
    return MODELS.build(first.model, make_encoding, generators, build_problem(first.problem).vocabulary)


def default_bins(train_length: int, test_length: int) -> list[list[int]]:
    """The test lengths beyond training in bins as wide as the training lengths; the last one may be narrower."""
    starts = range(train_length + 1, test_length + 1, train_length)
    return [[start, min(start + train_length - 1, test_length)] for start in starts]


def _factor(config: SequencesConfig) -> int:
    """By how much the longest test sequences are longer than those of training, in tokens, rounded up."""
    try:
        problem = build_problem(config.problem)
    except InputError:  # which the caller reports
        return 1
    return max(1, math.ceil(problem.width(config.test_length) / problem.width(config.train_length)))


def _check_lengths(config: SequencesConfig, problem: Problem) -> None:
    """Refuse lengths that the task does not have, and training or testing on none."""
    name, first = config.problem["name"], cast(int, config.train_from)
    has = f"from {problem.shortest} {'on' if math.isinf(problem.longest) else f'to {problem.longest:g}'}"
    for field in ("train_length", "test_length", "train_from"):
        length = getattr(config, field)
        if not problem.shortest <= length <= problem.longest:
            raise InputError(f"{field}={length}: problem={name} has lengths {has}")
    if first > config.train_length:
        raise InputError(f"train_from={first}: must be at most train_length={config.train_length}")
    if not problem.lengths(first, config.train_length):
        raise InputError(f"train_length={config.train_length}: problem={name} has no length from {first} to that")
    if not problem.lengths(first, min(config.train_length, config.test_length)):
        reach = f"must reach the training lengths, from train_from={first} on"
        raise InputError(f"test_length={config.test_length}: {reach}")


def _check_bins(config: SequencesConfig, problem: Problem) -> None:
    """Refuse bins that hold training lengths, one another's lengths, none, or any that are not tested."""
    trained = f"train_from={config.train_from} to train_length={config.train_length}"
    for low, high in config.bins or []:
        told = f"bins={[low, high]}"
        if low > high or high > config.test_length:
            raise InputError(f"{told}: must be a first and a last length, at most test_length={config.test_length}")
        if low <= config.train_length and high >= cast(int, config.train_from):
            raise InputError(f"{told}: must hold no training lengths, which are {trained}")
        if not problem.lengths(low, high):
            raise InputError(f"{told}: problem={config.problem['name']} has no length in it")
    for (_, high), (low, last) in pairwise(sorted(config.bins or [])):
        if low <= high:
            raise InputError(f"bins={[low, last]}: begins before the one that ends at {high} has ended")


def _check_training(config: SequencesConfig) -> None:
    """Refuse a curriculum that begins outside of the training lengths, and looks between points of the training
    curve."""
    start, stop = config.curriculum.start, config.stop
    if start is not None and not cast(int, config.train_from) <= start <= config.train_length:
        raise InputError(
            f"curriculum.start={start}: must be from train_from={config.train_from} to "
            f"train_length={config.train_length}"
        )
    if start is not None and not build_problem(config.problem).lengths(cast(int, config.train_from), start):
        raise InputError(f"curriculum.start={start}: problem={config.problem['name']} has no length up to it")
    if stop.exact is not None and stop.every % config.protocol.record_every:
        raise InputError(
            f"stop.every={stop.every}: must be a multiple of protocol.record_every={config.protocol.record_every}"
        )


def _check_positions(config: SequencesConfig, problem: Problem, model: nn.Module) -> None:
    """Refuse encodings and samplers that cannot give positions to padded rows, or to the longest."""
    encoding, name, sampler = encoding_of(model), config.encoding["name"], SAMPLERS.build(config.positions)
    if encoding.depends_on_length:
        raise InputError(f"encoding={name}: depends on the length of a text, which rows of many lengths do not have")
    trained, tested = problem.width(config.train_length), problem.width(config.test_length)
    chosen = config.positions["name"]
    if encoding.draws_positions and chosen != "contiguous":
        raise InputError(f"positions={chosen}: encoding={name} draws positions itself; choose contiguous")
    if sampler.text_length(trained) is not None:
        raise InputError(f"positions={chosen}: gathers a window from a longer text, of which there is none here")
    available = encoding.longest() + 2  # rows have no BOS and EOS beside their tokens
    if max(trained, tested) > available:
        raise InputError(
            f"encoding={name}: has {available:g} positions; sequences of lengths up to "
            f"{max(config.train_length, config.test_length)} have {max(trained, tested)} tokens"
        )
    if sampler.reach(trained) > available:
        raise InputError(
            f"positions={chosen}: gives positions up to {sampler.reach(trained) - 1}; encoding={name} has {available:g}"
        )
