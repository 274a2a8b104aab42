"""The family of number tasks: its runs are completed, trained and tested here (see ``training.family.Family``)."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import cast

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.building import build_encoding
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.models.layers import Member, Members
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import ENDS
from synthlab.numbers.construction import GROUPS, MODELS, build_map, build_models, data, map_of, module_of
from synthlab.numbers.evaluation import (
    constant_loss,
    find_chance,
    measure_loss,
    measure_outputs,
    readouts,
    test_sequences,
)
from synthlab.numbers.inputs import INPUTS
from synthlab.numbers.objective import Examples, PrefixRegression, length_weights
from synthlab.numbers.outrep import OUTREPS, Chosen, LearnedOutRep
from synthlab.numbers.outrep.laws import measure_map
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import TASKS, NumberTask
from synthlab.numbers.trained import TrainedNumbers
from synthlab.rng import stream
from synthlab.runs.registry import complete_members
from synthlab.runs.run import MOST_SEEDS, resolve
from synthlab.runs.sources import is_own
from synthlab.storage.records import Record
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import execute_together, split_inexact
from synthlab.training.family import Family, tabulate
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import find_stopped_step, train_until_fit

SYMBOLS = 2  # 0 and 1
DRAWN = 64  # sequences whose targets a map must invert
WORST = 1e30  # the score of a candidate that diverged


def complete(config: NumbersRun) -> NumbersRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its task, map and encoding are built, and no model. A class of the user is measured by the laws that it must keep.
    """
    members = complete_members(GROUPS, {name: getattr(config, name) for name in GROUPS})
    if "shift" not in members["outrep"]:
        raise InputError(f"outrep={config.outrep['name']}: its constructor must take a shift; see docs/extending.md")
    task, _, outrep = TASKS.build(config.task), INPUTS.build(config.inputs), OUTREPS.build(config.outrep)
    smallest, largest = task.span(1)[0], task.span(config.train_length)[1]
    members["outrep"] = outrep.complete(members["outrep"], smallest, largest)
    config = config.model_copy(update=members)
    _check_lengths(config)
    _check_targets(config, task)
    check_laws(config, lambda: measure_laws(config))
    if issubclass(OUTREPS.find(config.outrep["name"]), Chosen):
        candidate_runs(config)
    return config


def _check_lengths(config: NumbersRun) -> None:
    """Raise InputError for an encoding that does not fit the model, or the lengths of its texts."""
    encoding = build_encoding(MODELS, config)
    available = math.inf if encoding is None else encoding.longest()
    lines = [
        f"{name}={getattr(config, name)}: encoding={config.encoding['name']} has {available} positions, BOS and EOS "
        f"included, enough for lengths up to {available - ENDS}"
        for name in ("train_length", "test_length")
        if getattr(config, name) + ENDS > available
    ]
    if lines:
        raise InputError(*lines)


def _check_targets(config: NumbersRun, task: NumberTask) -> None:
    """Raise InputError for targets that leave the map's domain, that it does not tell apart, or that are clipped."""
    low, high = task.span(max(config.train_length, config.test_length))
    name, outrep = config.outrep["name"], build_map([config])
    shift, domain = outrep.shift, outrep.domain
    if not domain.contains(torch.tensor([low + shift, high + shift])).all():
        raise InputError(
            f"outrep.shift={shift:g}: takes the targets of task={config.task['name']} to [{low + shift:g}, "
            f"{high + shift:g}], which leaves the domain {domain} of outrep={name}; null chooses a shift that fits"
        )
    with torch.no_grad():
        least, most = outrep.forward(torch.tensor([low, high]))
        if low < high and least == most:
            raise InputError(
                f"outrep.shift={shift:g}: outrep={name} takes targets of {low:g} and of {high:g} to one number, "
                f"{float(least):g}; null chooses a shift that fits"
            )
    if config.evaluation.largest < high:
        largest = config.evaluation.largest
        raise InputError(f"evaluation.largest={largest:g}: must be at least the largest target {high:g}")


def measure_laws(config: NumbersRun) -> Iterator[Law]:
    """Yield the laws that the encoding, the model and the map of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), SYMBOLS)
    length = max(config.train_length, config.test_length)
    x = torch.randint(SYMBOLS, (DRAWN, length), generator=torch.Generator().manual_seed(0))
    task, _, outrep = data(config)
    ends = torch.tensor(task.span(length))
    yield from measure_map(outrep, torch.cat((ends, task.targets(x).flatten())))


def make_objective(ensemble: nn.Module, configs: Sequence[NumbersRun], device: str = "cpu") -> PrefixRegression:
    """Return the objective: the weighted squared error of each model of ``ensemble``, on the tasks of ``configs``."""
    learned = find_learned(ensemble)
    examples = [
        Examples(
            TASKS.build(config.task),
            INPUTS.build(config.inputs),
            None if learned else map_of(ensemble, index, config),
            batch=config.protocol.batch,
            weights=length_weights(config.length_distribution, config.train_length),
            seed=config.data_seed,
            # A map of the ensemble's differs between its models.
            key=json.dumps([config.task, config.outrep, index * (module_of(ensemble) is not None)], sort_keys=True),
            is_own=any(is_own(each["name"]) for each in (config.task, config.outrep)),
        )
        for index, config in enumerate(configs)
    ]
    return PrefixRegression(ensemble, examples, device, learned, _plan_weights(configs))


def _plan_weights(configs: Sequence[NumbersRun]) -> Callable[[int], Tensor] | None:
    """Return a function from the step (from 0) to the weights [E, L] of the training lengths.

    Return None without curriculum.
    """
    first = configs[0]
    if first.curriculum is None:
        return None
    find_longest = first.curriculum.find_longest

    @lru_cache(maxsize=1)  # many consecutive steps have the same weights
    def weights_up_to(longest: int) -> Tensor:
        return torch.stack([length_weights(each.length_distribution, each.train_length, longest) for each in configs])

    return lambda step: weights_up_to(find_longest(step, first.protocol.steps, first.train_length))


def train_models(
    ensemble: nn.Module, configs: Sequence[NumbersRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models of runs of one shape; return their training curves, with what is learned of the map.

    If the configs say so, each model trains with a map that it chooses, and until it fits.
    """
    outrep = module_of(ensemble)
    if isinstance(outrep, Chosen):
        outrep.scores.data = score_candidates(configs, device).to(outrep.scores)
    objective, stop = make_objective(ensemble, configs, device), configs[0].stop
    trace = MapTrace(find_learned(ensemble), observe)
    if stop is None or stop.loss is None:
        trainings = train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], trace)
    else:
        levels = [stop.loss * constant_loss(config) for config in configs]

        def fits(index: int) -> bool:
            outrep = map_of(ensemble, index, configs[index])
            return measure_loss(Member(ensemble, index), configs[index], outrep, stop.sequences) <= levels[index]

        trainings = train_until_fit(ensemble, configs, objective, stop.every, fits, trace)
    return [trace.add_to(training, index) for index, training in enumerate(trainings)]


class MapTrace:
    """An observer of an ensemble's training that records the parameters of its map at each point of the curve."""

    def __init__(self, outrep: LearnedOutRep | None, observe: Observer | None):
        self.outrep, self.observe = outrep, observe
        self._points: list[dict[str, list[float]]] = []

    def __call__(self, step: int, losses: list[float]) -> None:
        if self.outrep is not None:
            self._points.append({name: values.tolist() for name, values in self.outrep.learned().items()})
        if self.observe is not None:
            self.observe(step, losses)

    def add_to(self, training: Training, index: int) -> Training:
        """Return the training curve of one model with the parameters of its map at each point."""
        points = self._points[: len(training.steps)]
        names = points[0] if points else {}
        return training._replace(learned={name: [point[name][index] for point in points] for name in names})


def find_learned(ensemble: nn.Module) -> LearnedOutRep | None:
    """Return the map that is learned with the models of an ensemble, if there is one."""
    outrep = module_of(ensemble)
    return outrep if isinstance(outrep, LearnedOutRep) else None


def candidate_runs(config: NumbersRun) -> list[NumbersRun]:
    """Return the run of each candidate: trained on the lengths that are not held out, tested on those that are.

    Its test sequences have a seed far from those of tests, so tests play no part in the choice. Raises InputError if no
    length is left, and for a candidate that could not be trained.
    """
    held_out = max(1, round(config.outrep["held_out"] * config.train_length))
    shorter = config.train_length - held_out
    if shorter < 1:
        raise InputError(
            f"train_length={config.train_length}: leaves no length to train on where outrep=chosen holds out "
            f"{held_out}; lower outrep.held_out"
        )
    own = {
        "train_length": shorter,
        "test_length": config.train_length,
        "test_seed": MOST_SEEDS - 1 - config.data_seed,
    }
    shared = config.model_dump() | own
    return [cast(NumbersRun, resolve(shared | {"outrep": each})) for each in config.outrep["candidates"]]


def score_candidates(configs: Sequence[NumbersRun], device: str = "cpu") -> Float[Tensor, "E C"]:
    """Train a model for each candidate of each run on the shorter training lengths; return the scores."""
    runs = [candidate_runs(config) for config in configs]
    planned = plan_ensembles([run for each in runs for run in each], 1, device)
    parts = [part for ensemble in planned for part in split_inexact(ensemble, device)]
    records = {record.config.id: record for part in parts for record in execute_together(part, device=device)}
    return torch.tensor([[score(records[run.id]) for run in each] for each in runs])


def score(record: Record) -> float:
    """Return the relative error, averaged over the lengths beyond training."""
    beyond = record.metrics.loc[record.metrics["length"] > record.config.train_length, "relative_error"]
    return WORST if record.diverged_at is not None else min(float(beyond.mean()), WORST)


@torch.no_grad()
def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Sequence[NumbersRun]
) -> list[tuple[pd.DataFrame, pd.DataFrame | None]]:
    """Return every metric at every length for each of the models ``indices``, and a table or None.

    The table is for ``LinearAttention`` its output matrix M (2 x 2, with BOS 2 x 3), for a chosen map the score of each
    candidate.
    """
    models, first = Members(ensemble, indices), configs[0]
    task, inputs = TASKS.build(first.task), INPUTS.build(first.inputs)
    # A user's code may expect a CPU.
    device = "cpu" if any(is_own(each["name"]) for each in (first.task, first.outrep)) else models.device
    shape = first.evaluation.sequences, first.test_length
    x = torch.stack([test_sequences(inputs, *shape, each.test_seed).to(device) for each in configs])  # M B L
    outputs = readouts(models, x, *(stream(each.test_seed, "evaluation_positions") for each in configs))
    groups = [indices] if module_of(ensemble) is None else [[index] for index in indices]  # those of one map
    size, tables = len(groups[0]), list[pd.DataFrame]()
    for group, part, of_part in zip(groups, outputs.split(size), x.split(size), strict=True):
        outrep = map_of(ensemble, group[0], first)
        tables += tabulate(measure_outputs(part, of_part, task, outrep, first.evaluation.largest))
    return [(table, _tabulate_model(ensemble, index)) for table, index in zip(tables, indices, strict=True)]


def _tabulate_model(ensemble: nn.Module, index: int) -> pd.DataFrame | None:
    outrep = module_of(ensemble)
    if isinstance(ensemble, LinearAttention):
        outputs = ensemble.outputs()[index].detach().double().cpu().numpy()
        return pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])
    if isinstance(outrep, Chosen):
        return pd.DataFrame([outrep.scores[index].tolist()], columns=outrep.names)
    return None


def open_model(record: Record, step: int | None = None) -> TrainedNumbers:
    """Return the trained model of a run, or the model as it was after ``step``, or when it stopped before."""
    return TrainedNumbers(record, find_stopped_step(record, step))


NUMBERS = Family(
    groups=GROUPS,
    complete=complete,
    build_models=build_models,
    make_objective=make_objective,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=open_model,
    measure_laws=measure_laws,
    find_chance=find_chance,
)
