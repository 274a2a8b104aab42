"""The family of sequence tasks: its runs are completed, built and trained here (see ``training.family.Family``)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from torch import nn

from synthlab.errors import InputError
from synthlab.models.building import build_encoding, build_ensemble
from synthlab.models.encodings import ENCODINGS
from synthlab.models.language_model import MODELS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.rng import stream
from synthlab.runs.registry import Registry, complete_members, show
from synthlab.sequences.evaluation import evaluate_models, measure_fit
from synthlab.sequences.objective import AnswerLoss
from synthlab.sequences.positions import ABSOLUTE, POSITIONS, Coupled, OfTask, check_places
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import SequenceTask
from synthlab.sequences.tasks import TASKS
from synthlab.sequences.trained import TrainedSequences
from synthlab.training.family import Family
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import train_until_fit

GROUPS: dict[str, Registry[Any]] = {"task": TASKS, "encoding": ENCODINGS, "model": MODELS, "positions": POSITIONS}


def complete(config: SequencesRun) -> SequencesRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its task, encoding and sampler are built, and no model. A class of the user is measured by the laws that it must
    keep.
    """
    given = {field: getattr(config, field) for field in GROUPS}
    open_keys = [key for key, value in config.positions.items() if value is None and key in ("factor", "span", "shift")]
    given["positions"] = {**config.positions, **dict.fromkeys(open_keys, 3)}  # placeholders, valid for any task
    members = complete_members(GROUPS, given)
    task = tested = TASKS.build(members["task"])
    if config.test_task:
        changed = TASKS.complete({**members["task"], **config.test_task}, "test_task")
        tested = TASKS.build(changed)
        members["test_task"] = {key: changed[key] for key in config.test_task}
        if list(tested.symbols) != list(task.symbols):
            given = show(dict(config.test_task))
            raise InputError(f"test_task={given}: changes the symbols; a model knows those of its training alone")
    longest = max(config.train_length, config.test_length)
    known = {  # so that training reaches the positions of tests; the factor is a ratio of numbers of tokens
        "factor": max(1, math.ceil(tested.width(config.test_length) / task.width(config.train_length))),
        "span": longest + 2,
        "shift": longest - config.train_length,
    }
    members["positions"] |= {key: known[key] for key in open_keys}
    filled: dict[str, Any] = {"train_from": task.shortest if config.train_from is None else config.train_from}
    if config.bins is None:
        bins = default_bins(config.train_length, config.test_length)
        filled["bins"] = [each for each in bins if tested.lengths(*each)]
    config = config.model_copy(update=members | filled)
    _check_lengths(config, task, tested)
    _check_positions(config, task, tested)
    check_laws(config, lambda: measure_laws(config))
    return config


def default_bins(train_length: int, test_length: int) -> list[list[int]]:
    """Return the test lengths beyond training in bins as wide as the training lengths; the last may be narrower."""
    starts = range(train_length + 1, test_length + 1, train_length)
    return [[start, min(start + train_length - 1, test_length)] for start in starts]


def _check_lengths(config: SequencesRun, task: SequenceTask, tested: SequenceTask) -> None:
    """Raise InputError for lengths that the tasks do not have, and bins without a test length beyond training."""
    name, first, last = config.task["name"], cast(int, config.train_from), config.train_length
    reached = {
        "train_length": last,
        "test_length": config.test_length,
        "curriculum.start": config.curriculum.start,
    }
    for field, length in reached.items():
        if length is None:
            continue
        has = tested if field == "test_length" else task
        missing = not task.lengths(first, min(length, last)) or not has.lengths(1, length)
        if length > has.longest or missing:
            raise InputError(
                f"{field}={length}: task={name} has no training length up to that, from train_from={first} to "
                f"train_length={last}, or ends before; it has lengths from {has.shortest} to {has.longest:g}"
            )
    for low, high in config.bins or []:
        is_trained = low <= last and high >= first
        if not low <= high <= config.test_length or is_trained or not tested.lengths(low, high):
            raise InputError(
                f"bins={[low, high]}: must be a first and a last length of task={name}, at most "
                f"test_length={config.test_length}, and contain no training length, from {first} to {last}"
            )


def _check_positions(config: SequencesRun, task: SequenceTask, tested: SequenceTask) -> None:
    """Raise InputError for encodings and samplers that cannot give positions to padded or to the longest rows."""
    encoding, name, chosen = build_encoding(MODELS, config), config.encoding["name"], config.positions["name"]
    sampler, trained = POSITIONS.build(config.positions), task.width(config.train_length)
    is_of_task = isinstance(sampler, OfTask)
    if is_of_task:
        check_places(task, f"positions={chosen}: task={config.task['name']}")
    if isinstance(sampler, Coupled) and sampler.span < config.train_length + 2:
        raise InputError(f"positions.span={sampler.span}: must be at least train_length={config.train_length} plus 2")
    if encoding is None:
        return
    if is_of_task:
        needed = max(config.test_length + 3, sampler.reach(config.train_length))
    else:
        needed = max(trained, tested.width(config.test_length), sampler.reach(trained))
    if not (encoding.packs or encoding.draws_positions):
        raise InputError(f"encoding={name}: depends on the length of the text, but a row here has many lengths")
    if encoding.draws_positions and chosen != "contiguous":
        raise InputError(f"positions={chosen}: encoding={name} draws positions itself; choose contiguous")
    if is_of_task and (not encoding.hooks or encoding.hooks - ABSOLUTE):
        raise InputError(f"positions={chosen}: encoding={name} cannot use them; choose learned, sinusoidal or rope")
    if sampler.text_length(trained) is not None:
        raise InputError(f"positions={chosen}: gathers windows from longer texts, which this task does not have")
    if needed > encoding.longest():
        raise InputError(
            f"encoding={name}: has {encoding.longest():g} positions; train_length={config.train_length}, "
            f"test_length={config.test_length} and positions={chosen} need {needed}"
        )


def measure_laws(config: SequencesRun) -> Iterator[Law]:
    """Yield the laws that the encoding and the model of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), TASKS.build(config.task).vocabulary)


def build_models(configs: Sequence[SequencesRun]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, TASKS.build(configs[0].task).vocabulary)


def train_models(
    ensemble: nn.Module, configs: Sequence[SequencesRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models, each until it fits if the configs say so; return their training curves."""
    objective, stop = AnswerLoss(ensemble, configs, device), configs[0].stop
    exact = stop.exact
    if exact is None:
        return train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], observe)

    def fits(index: int) -> bool:
        return measure_fit(ensemble, index, configs[index]) >= exact

    return train_until_fit(ensemble, configs, objective, stop.every, fits, observe)


SEQUENCES = Family(
    groups=GROUPS,
    complete=complete,
    build_models=build_models,
    make_objective=AnswerLoss,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=TrainedSequences,
    measure_laws=measure_laws,
)
