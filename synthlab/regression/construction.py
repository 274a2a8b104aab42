"""Construction of a config's task, inputs, output map and model, with checks that they fit before anything runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from synthlab.config.base import MOST_SEEDS
from synthlab.config.registry import Registry, ask_member, catch_errors, complete_members, describe_call
from synthlab.errors import InputError
from synthlab.models.building import build_ensemble, check_encoding, check_parameters
from synthlab.models.encodings import ENCODINGS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import ENDS
from synthlab.models.transformer import Transformer
from synthlab.regression.config import RunConfig
from synthlab.regression.inputs import INPUTS, InputDistribution
from synthlab.regression.outrep import OUTREPS, Chosen, Interval, OutRep, OutRepModule
from synthlab.regression.outrep.laws import measure_map
from synthlab.regression.tasks import TASKS, Task
from synthlab.rng import stream
from synthlab.training.memory import check_buildable
from synthlab.training.optimizers import check_optimizer
from synthlab.training.stopping import check_stop

SYMBOLS = 2  # 0 and 1
DRAWN = 64  # sequences whose targets a map must invert
ROUNDING = 1e-4  # tolerance beyond the span, as a fraction of the largest target
MODELS = Registry(
    "model",
    nn.Module,
    {"transformer": Transformer, "linear": LinearAttention},
    call="Class(make_encoding, generators, /, **settings)",
)
KINDS = {kind.kind: kind for kind in (TASKS, INPUTS, ENCODINGS, OUTREPS, MODELS)}


def resolve(raw: Mapping[str, Any]) -> RunConfig:
    """Return the complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    config = RunConfig.from_raw(raw)
    members = complete_members(KINDS, {name: getattr(config, name) for name in KINDS})
    if "shift" not in members["outrep"]:
        name = config.outrep["name"]
        how = describe_call(OUTREPS.find(name), OUTREPS.call)
        raise InputError(f"outrep={name}: its constructor must take a shift; {how}")
    outrep, task = _check_map(build_map([config]), config), TASKS.build(config.task)
    smallest, largest = _span(task, config, 1)[0], _span(task, config, config.train_length)[1]
    with catch_errors("outrep", config.outrep["name"], "choose a shift"):
        members["outrep"] = outrep.complete(members["outrep"], smallest, largest)
    config = config.model_copy(update=members)
    check_buildable(config)
    task, _, outrep = data(config)
    model = build_models([config])
    _check(config, task, outrep, model)
    _check_training(config)
    check_optimizer(config.protocol, model)
    check_laws(config, lambda: measure_laws(config))
    if isinstance(outrep, Chosen):
        candidate_runs(config)
    return config


def measure_laws(config: RunConfig) -> Iterator[Law]:
    """Yield the laws that the encoding, the model and the map of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), SYMBOLS)
    length = max(config.train_length, config.test_length)
    x = torch.randint(SYMBOLS, (DRAWN, length), generator=torch.Generator().manual_seed(0))
    task, _, outrep = data(config)
    ends = torch.tensor(_span(task, config, length))
    yield from measure_map(outrep, torch.cat((ends, task.targets(x).flatten())))


def candidate_runs(config: RunConfig) -> list[RunConfig]:
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
    return [resolve(config.model_dump() | own | {"outrep": each}) for each in config.outrep["candidates"]]


def data(config: RunConfig) -> tuple[Task, InputDistribution, OutRep]:
    """Return the task, input distribution and output map, which decide a run's examples.

    A map with parameters is as it is before training.
    """
    return TASKS.build(config.task), INPUTS.build(config.inputs), build_map([config])


def build_map(configs: Sequence[RunConfig]) -> OutRep:
    """Return the output map of runs that have the same; one with parameters serves all of them."""
    outrep = OUTREPS.build(configs[0].outrep)
    if isinstance(outrep, OutRepModule):
        with catch_errors("outrep", configs[0].outrep["name"], "be initialized"):
            outrep.initialise([stream(config.weight_seed, "outrep") for config in configs])
        check_parameters("outrep", configs[0].outrep["name"], outrep, len(configs))
    return outrep


def module_of(ensemble: nn.Module) -> OutRepModule | None:
    """Return the output map that is part of an ensemble; None for maps without parameters."""
    outrep = getattr(ensemble, "outrep", None)
    return outrep if isinstance(outrep, OutRepModule) else None


def map_of(ensemble: nn.Module, index: int, config: RunConfig) -> OutRep:
    """Return the trained output map of one model; ``config`` is the model's config."""
    outrep = module_of(ensemble)
    return OUTREPS.build(config.outrep) if outrep is None else outrep.member(index)


def build_models(configs: Sequence[RunConfig]) -> nn.Module:
    """Initialize the models of runs of one shape as one ensemble, with the output map if that has parameters.

    Raises InputError for models that cannot form an ensemble.
    """
    ensemble = build_ensemble(MODELS, configs, [stream(config.weight_seed, "initial") for config in configs])
    outrep = build_map(configs)
    if isinstance(outrep, OutRepModule):
        ensemble.outrep = outrep
    return ensemble


def _check(config: RunConfig, task: Task, outrep: OutRep, model: nn.Module) -> None:
    """Raise InputError for fields that do not fit together: lengths and the encoding, targets and the map's domain."""
    available = check_encoding(config, model).longest()
    for name in ("train_length", "test_length"):
        length = getattr(config, name)
        if length + ENDS > available:
            raise InputError(
                f"{name}={length}: encoding={config.encoding['name']} has {available} positions, BOS and EOS "
                f"included, enough for lengths up to {available - ENDS}"
            )
    low, high = _span(task, config, max(config.train_length, config.test_length))
    _check_map(outrep, config)
    name, shift, domain = config.outrep["name"], outrep.shift, outrep.domain
    if not domain.contains(torch.tensor([low + shift, high + shift])).all():
        raise InputError(
            f"outrep.shift={shift:g}: takes the targets of task={config.task['name']} to [{low + shift:g}, "
            f"{high + shift:g}], which leaves the domain {domain} of outrep={name}; null chooses a shift that fits"
        )
    with catch_errors("outrep", name, "map the task's targets"), torch.no_grad():
        least, most = outrep.forward(torch.tensor([low, high]))
        if low < high and least == most:
            raise InputError(
                f"outrep.shift={shift:g}: outrep={name} takes targets of {low:g} and of {high:g} to one number, "
                f"{float(least):g}; null chooses a shift that fits"
            )
    _check_targets(config, task, (low, high))
    if config.evaluation.largest < high:
        largest = config.evaluation.largest
        raise InputError(f"evaluation.largest={largest:g}: must be at least the largest target {high:g}")


def _check_training(config: RunConfig) -> None:
    """Raise InputError for a curriculum that begins outside of the training lengths, or an unsuitable ``stop.every``.

    Tests of ``stop`` must be at points of the training curve.
    """
    start = None if config.curriculum is None else config.curriculum.start
    if start is not None and start > config.train_length:
        raise InputError(f"curriculum.start={start}: must be from 1 to train_length={config.train_length}")
    if config.stop is not None:
        check_stop(config.stop.every, config.protocol)


def _span(task: Task, config: RunConfig, length: int) -> tuple[float, float]:
    """Return the smallest and the largest target of the run's task over sequences of 1 to ``length`` symbols."""
    must = "two finite numbers, the smaller first"
    low, high = ask_member("task", config.task["name"], f"span({length})", lambda: task.span(length), _is_span, must)
    return float(low), float(high)


def _is_span(bounds: Any) -> bool:
    low, high = bounds
    return -math.inf < low <= high < math.inf


def _check_targets(config: RunConfig, task: Task, span: tuple[float, float]) -> None:
    """Raise InputError if sample targets differ in shape from the symbols, or lie outside the task's span."""
    name, length, (low, high) = config.task["name"], max(config.train_length, config.test_length), span
    drawn = torch.randint(2, (2, length), generator=torch.Generator().manual_seed(0))
    x = torch.cat((torch.zeros_like(drawn[:1]), torch.ones_like(drawn[:1]), drawn))
    slack = ROUNDING * max(1.0, abs(low), abs(high))
    with catch_errors("task", name, "say its targets"):
        targets = task.targets(x)
        if targets.shape != x.shape:
            raise InputError(
                f"task={name}: targets have shape {tuple(targets.shape)}; must have {tuple(x.shape)}, as x"
            )
        least, most = float(targets.min()), float(targets.max())
        if not low - slack <= least <= most <= high + slack:
            raise InputError(
                f"task={name}: targets are {least:g} to {most:g}; must lie within span({length}), {low:g} to {high:g}"
            )


def _check_map(outrep: OutRep, config: RunConfig) -> OutRep:
    """Return the run's map. Raises InputError for a user's map without a required attribute."""
    interval = Interval, "a synthlab.regression.outrep.Interval"
    required = {"domain": interval, "image": interval, "shift": (int | float, "a number, which OutRep.__init__ sets")}
    for attribute, (kind, must) in required.items():
        value = getattr(outrep, attribute, None)
        if not isinstance(value, kind):
            raise InputError(f"outrep={config.outrep['name']}: {attribute} is {value!r}; must be {must}")
    return outrep
