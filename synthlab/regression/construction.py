"""Build the task, inputs, output map and model of a config, and check that they fit before anything runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from synthlab.config.registry import Registry, ask_member, catch_errors, complete_members
from synthlab.errors import InputError
from synthlab.models.building import build_ensemble, check_encoding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import ENDS
from synthlab.models.transformer import Transformer
from synthlab.regression.config import RunConfig
from synthlab.regression.inputs import INPUTS, InputDistribution
from synthlab.regression.outrep import OUTREPS, Interval, OutRep
from synthlab.regression.tasks import TASKS, Task
from synthlab.rng import stream
from synthlab.training.memory import check_buildable
from synthlab.training.optimizers import check_optimizer
from synthlab.training.stopping import check_stop

ROUNDING = 1e-4  # of the largest target: how far outside of the span one may lie
MODELS = Registry("model", nn.Module, {"transformer": Transformer, "linear": LinearAttention})
KINDS = {kind.kind: kind for kind in (TASKS, INPUTS, ENCODINGS, OUTREPS, MODELS)}


def resolve(raw: Mapping[str, Any]) -> RunConfig:
    """The complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    config = RunConfig.from_raw(raw)
    members = complete_members(KINDS, {name: getattr(config, name) for name in KINDS})
    if "shift" not in members["outrep"]:
        raise InputError(f"outrep={config.outrep['name']}: its constructor must take a shift")
    shift = members["outrep"]["shift"]
    if shift is None:
        outrep = _check_map(OUTREPS.build(config.outrep), config)
        smallest, _ = _span(TASKS.build(config.task), config, 1)
        with catch_errors("outrep", config.outrep["name"], "choose a shift"):
            shift = float(outrep.default_shift(smallest))
    members["outrep"]["shift"] = shift + 0.0  # -0.0 is the same shift as 0.0
    config = config.model_copy(update=members)
    check_buildable(config)
    task, _, outrep = data(config)
    model = build_models([config])
    _check(config, task, outrep, model)
    _check_training(config)
    check_optimizer(config.protocol, model)
    return config


def data(config: RunConfig) -> tuple[Task, InputDistribution, OutRep]:
    """Task, input distribution and output map, which decide a run's examples."""
    return TASKS.build(config.task), INPUTS.build(config.inputs), OUTREPS.build(config.outrep)


def build_models(configs: Sequence[RunConfig]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for models that cannot form an
    ensemble."""
    return build_ensemble(MODELS, configs, [stream(config.weight_seed, "initial") for config in configs])


def _check(config: RunConfig, task: Task, outrep: OutRep, model: nn.Module) -> None:
    """Check fields against each other: lengths against the encoding's, targets against the map's domain."""
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
    with catch_errors("outrep", name, "map the task's targets"):
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
    """Refuse a curriculum that begins outside of the training lengths, and tests between points of the training
    curve."""
    start = None if config.curriculum is None else config.curriculum.start
    if start is not None and start > config.train_length:
        raise InputError(f"curriculum.start={start}: must be from 1 to train_length={config.train_length}")
    if config.stop is not None:
        check_stop(config.stop.every, config.protocol)


def _span(task: Task, config: RunConfig, length: int) -> tuple[float, float]:
    """The smallest and the largest target of the run's task over sequences of 1 to ``length`` symbols."""
    must = "two finite numbers, the smaller first"
    low, high = ask_member("task", config.task["name"], f"span({length})", lambda: task.span(length), _is_span, must)
    return float(low), float(high)


def _is_span(bounds: Any) -> bool:
    low, high = bounds
    return -math.inf < low <= high < math.inf


def _check_targets(config: RunConfig, task: Task, span: tuple[float, float]) -> None:
    """Refuse a task whose targets, of a few sequences, have another shape than the symbols or lie outside its span."""
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
    """The run's map. Raises InputError for a user's map without a required attribute."""
    interval = Interval, "a synthlab.regression.outrep.Interval"
    required = {"domain": interval, "image": interval, "shift": (int | float, "a number, which OutRep.__init__ sets")}
    for attribute, (kind, must) in required.items():
        value = getattr(outrep, attribute, None)
        if not isinstance(value, kind):
            raise InputError(f"outrep={config.outrep['name']}: {attribute} is {value!r}; must be {must}")
    return outrep
