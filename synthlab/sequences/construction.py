"""Construction of a config's model, and checks of the config before anything runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

from torch import nn

from synthlab.config.registry import Registry, ask_member, catch_errors, complete_members, is_number, is_truth, is_whole
from synthlab.errors import InputError
from synthlab.models.building import build_ensemble, check_encoding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.language_model import MODELS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.positions.samplers import SAMPLERS, check_sampler
from synthlab.rng import stream
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.problem import Problem
from synthlab.sequences.tasks import PROBLEMS
from synthlab.training.memory import check_buildable
from synthlab.training.optimizers import check_optimizer
from synthlab.training.stopping import check_stop

MOST = 10**6  # the most tokens of a vocabulary or of an example
KINDS: dict[str, Registry[Any]] = {"task": PROBLEMS, "encoding": ENCODINGS, "model": MODELS, "positions": SAMPLERS}


def resolve(raw: Mapping[str, Any]) -> SequencesConfig:
    """Return the complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    config = SequencesConfig.from_raw(raw)
    given = {field: getattr(config, field) for field in KINDS}
    fills_factor = config.positions.get("factor", 0) is None
    if fills_factor:
        given["positions"] = {**config.positions, "factor": 2}  # a placeholder: the final factor depends on the task
    members = complete_members(KINDS, given)
    problem = build_problem(members["task"])
    _check_problem(config, problem)
    if fills_factor:  # the ratio of the longest test sequences to the longest training sequences, in tokens
        ratio = problem.width(config.test_length) / problem.width(config.train_length)
        members["positions"]["factor"] = max(1, math.ceil(ratio))
    filled: dict[str, Any] = {"train_from": int(problem.shortest) if config.train_from is None else config.train_from}
    if config.bins is None:
        bins = default_bins(config.train_length, config.test_length)
        filled["bins"] = [each for each in bins if problem.lengths(*each)]
    config = config.model_copy(update=members | filled)
    _check_lengths(config, problem)
    _check_bins(config, problem)
    _check_training(config)
    check_buildable(config)
    model = build_models([config])
    _check_positions(config, problem, model)
    check_optimizer(config.protocol, model)
    check_laws(config, lambda: measure_laws(config))
    return config


def measure_laws(config: SequencesConfig) -> Iterator[Law]:
    """Yield the laws that the encoding and the model of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), build_problem(config.task).vocabulary)


def build_problem(member: Mapping[str, Any]) -> Problem:
    """Return the task that a run names. Raises InputError."""
    return PROBLEMS.build(member)


def build_models(configs: Sequence[SequencesConfig]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, build_problem(configs[0].task).vocabulary)


def default_bins(train_length: int, test_length: int) -> list[list[int]]:
    """Return the test lengths beyond training in bins as wide as the training lengths; the last may be narrower."""
    starts = range(train_length + 1, test_length + 1, train_length)
    return [[start, min(start + train_length - 1, test_length)] for start in starts]


def _check_problem(config: SequencesConfig, problem: Problem) -> None:
    """Raise InputError for a task, perhaps a class of the user, with invalid answers about its sizes."""
    ask, last = partial(ask_member, "task", config.task["name"]), max(config.train_length, config.test_length)
    is_size = partial(is_whole, low=1, high=MOST)
    ask("vocabulary", lambda: problem.vocabulary, is_size, f"a whole number from 1 to {MOST}")
    is_first = partial(is_whole, low=0, high=MOST)
    first = ask("shortest", lambda: problem.shortest, is_first, f"a whole number from 0 to {MOST}")
    is_last = partial(is_number, low=first, high=math.inf)
    ask("longest", lambda: problem.longest, is_last, f"a number from shortest={first} on")
    for length in range(first, last + 1):
        ask(f"has({length})", partial(problem.has, length), is_truth, "True or False")
    for length in (config.train_length, config.test_length):
        ask(f"width({length})", partial(problem.width, length), is_size, f"a whole number from 1 to {MOST}")
    with catch_errors("task", config.task["name"], f"say its lengths({first}, {last})"):
        for length in problem.lengths(first, last):
            is_share = partial(is_number, low=0, high=1)
            ask(f"chance({length})", partial(problem.chance, length), is_share, "a number from 0 to 1")


def _check_lengths(config: SequencesConfig, problem: Problem) -> None:
    """Raise InputError for lengths that the task does not have, and if there are none to train or test on."""
    name, first = config.task["name"], cast(int, config.train_from)
    has = f"from {problem.shortest} {'on' if math.isinf(problem.longest) else f'to {problem.longest:g}'}"
    for field in ("train_length", "test_length", "train_from"):
        length = getattr(config, field)
        if not problem.shortest <= length <= problem.longest:
            raise InputError(f"{field}={length}: task={name} has lengths {has}")
    if first > config.train_length:
        raise InputError(f"train_from={first}: must be at most train_length={config.train_length}")
    if not problem.lengths(first, config.train_length):
        raise InputError(f"train_length={config.train_length}: task={name} has no length from {first} to that")
    if not problem.lengths(first, min(config.train_length, config.test_length)):
        reach = f"must reach the training lengths, from train_from={first} on"
        raise InputError(f"test_length={config.test_length}: {reach}")


def _check_bins(config: SequencesConfig, problem: Problem) -> None:
    """Raise InputError for bins that are empty or overlap, or have training lengths or untested lengths."""
    trained = f"train_from={config.train_from} to train_length={config.train_length}"
    for low, high in config.bins or []:
        told = f"bins={[low, high]}"
        if low > high or high > config.test_length:
            raise InputError(f"{told}: must be a first and a last length, at most test_length={config.test_length}")
        if low <= config.train_length and high >= cast(int, config.train_from):
            raise InputError(f"{told}: must not contain training lengths, which are {trained}")
        if not problem.lengths(low, high):
            raise InputError(f"{told}: task={config.task['name']} has no length in it")
    for (_, high), (low, last) in pairwise(sorted(config.bins or [])):
        if low <= high:
            raise InputError(f"bins={[low, last]}: overlaps the range that ends at {high}")


def _check_training(config: SequencesConfig) -> None:
    """Raise InputError for a curriculum that begins outside of the training lengths, or an unsuitable ``stop.every``.

    Tests of ``stop`` must be at points of the training curve.
    """
    start, stop, first = config.curriculum.start, config.stop, cast(int, config.train_from)
    if start is not None and not first <= start <= config.train_length:
        raise InputError(
            f"curriculum.start={start}: must be from train_from={first} to train_length={config.train_length}"
        )
    if start is not None and not build_problem(config.task).lengths(first, start):
        raise InputError(f"curriculum.start={start}: task={config.task['name']} has no length up to it")
    if stop.exact is not None:
        check_stop(stop.every, config.protocol)


def _check_positions(config: SequencesConfig, problem: Problem, model: nn.Module) -> None:
    """Raise InputError for encodings and samplers that cannot give positions to padded or to the longest rows."""
    encoding, name = check_encoding(config, model), config.encoding["name"]
    if not (encoding.packs or encoding.draws_positions):
        raise InputError(f"encoding={name}: depends on the length of the text, but a row here has many lengths")
    trained, tested = problem.width(config.train_length), problem.width(config.test_length)
    chosen, sampler = config.positions["name"], check_sampler(config.positions, trained)
    if encoding.draws_positions and chosen != "contiguous":
        raise InputError(f"positions={chosen}: encoding={name} draws positions itself; choose contiguous")
    if sampler.text_length(trained) is not None:
        raise InputError(f"positions={chosen}: gathers windows from longer texts, which this task does not have")
    available = encoding.longest()
    if max(trained, tested) > available:
        raise InputError(
            f"encoding={name}: has {available:g} positions; sequences of lengths up to "
            f"{max(config.train_length, config.test_length)} have {max(trained, tested)} tokens"
        )
    if sampler.reach(trained) > available:
        raise InputError(
            f"positions={chosen}: gives positions up to {sampler.reach(trained) - 1}; encoding={name} has {available:g}"
        )
