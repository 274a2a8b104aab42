"""The family of sequence tasks: its runs are completed, trained and tested here (see ``training.family.Family``)."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import pandas as pd
from torch import nn

from synthlab.errors import InputError
from synthlab.models.building import build_encoding
from synthlab.models.encodings.base import encoding_of
from synthlab.models.language_model import MODELS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.models.layers import Members
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.runs.registry import complete_members
from synthlab.runs.sources import is_own
from synthlab.sequences.construction import GROUPS, build_models, build_problem
from synthlab.sequences.evaluation import Scorer, by_bin, measure_fit, score_lengths
from synthlab.sequences.objective import AnswerLoss
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import SequenceTask
from synthlab.sequences.trained import TrainedSequences
from synthlab.storage.records import Record
from synthlab.training.family import Family
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import find_stopped_step, train_until_fit


def complete(config: SequencesRun) -> SequencesRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its task, encoding and sampler are built, and no model. A class of the user is measured by the laws that it must
    keep.
    """
    given = {field: getattr(config, field) for field in GROUPS}
    fills_factor = config.positions.get("factor", 0) is None
    if fills_factor:
        given["positions"] = {**config.positions, "factor": 2}  # a placeholder: the final factor depends on the task
    members = complete_members(GROUPS, given)
    problem = build_problem(members["task"])
    if fills_factor:  # the ratio of the longest test sequences to the longest training sequences, in tokens
        ratio = problem.width(config.test_length) / problem.width(config.train_length)
        members["positions"]["factor"] = max(1, math.ceil(ratio))
    filled: dict[str, Any] = {"train_from": problem.shortest if config.train_from is None else config.train_from}
    if config.bins is None:
        bins = default_bins(config.train_length, config.test_length)
        filled["bins"] = [each for each in bins if problem.lengths(*each)]
    config = config.model_copy(update=members | filled)
    _check_lengths(config, problem)
    _check_bins(config, problem)
    _check_positions(config, problem)
    check_laws(config, lambda: measure_laws(config))
    return config


def measure_laws(config: SequencesRun) -> Iterator[Law]:
    """Yield the laws that the encoding and the model of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), build_problem(config.task).vocabulary)


def default_bins(train_length: int, test_length: int) -> list[list[int]]:
    """Return the test lengths beyond training in bins as wide as the training lengths; the last may be narrower."""
    starts = range(train_length + 1, test_length + 1, train_length)
    return [[start, min(start + train_length - 1, test_length)] for start in starts]


def _check_lengths(config: SequencesRun, problem: SequenceTask) -> None:
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
    start = config.curriculum.start
    if start is not None and not problem.lengths(first, start):
        raise InputError(f"curriculum.start={start}: task={name} has no length from train_from={first} to that")


def _check_bins(config: SequencesRun, problem: SequenceTask) -> None:
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


def _check_positions(config: SequencesRun, problem: SequenceTask) -> None:
    """Raise InputError for encodings and samplers that cannot give positions to padded or to the longest rows."""
    encoding, name = build_encoding(MODELS, config), config.encoding["name"]
    if encoding is None:
        return
    if not (encoding.packs or encoding.draws_positions):
        raise InputError(f"encoding={name}: depends on the length of the text, but a row here has many lengths")
    trained, tested = problem.width(config.train_length), problem.width(config.test_length)
    chosen, sampler = config.positions["name"], SAMPLERS.build(config.positions)
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


def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Sequence[SequencesRun]
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the ``METRICS`` at every length; and those of the training lengths and bins, with the horizon."""
    first, models = configs[0], Members(ensemble, indices)
    places = [stream(each.test_seed, "evaluation_positions") for each in configs]
    # What the code of a user's task makes is on a CPU.
    device = "cpu" if is_own(first.task["name"]) else models.device
    scorer = Scorer(models, encoding_of(ensemble), build_problem(first.task), places, device)
    return [(metrics, by_bin(metrics, outputs, first)) for metrics, outputs in score_lengths(scorer, configs)]


def open_model(record: Record, step: int | None = None) -> TrainedSequences:
    """Return the trained model of a run, or the model as it was after ``step``, or when it stopped before."""
    return TrainedSequences(record, find_stopped_step(record, step))


SEQUENCES = Family(
    groups=GROUPS,
    complete=complete,
    build_models=build_models,
    make_objective=AnswerLoss,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=open_model,
    measure_laws=measure_laws,
)
