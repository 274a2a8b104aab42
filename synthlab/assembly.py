"""From a config to the objects it stands for, checked before anything runs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from synthlab.config import RunConfig
from synthlab.encodings import ENCODINGS
from synthlab.errors import InputError
from synthlab.inputs import INPUTS, InputDistribution
from synthlab.linear_attention import LinearAttention
from synthlab.outrep import OUTREPS, OutRep
from synthlab.registry import Registry
from synthlab.streams import stream
from synthlab.tasks import TASKS, Task
from synthlab.transformer import Transformer

MODELS = Registry("model", nn.Module, {"transformer": Transformer, "linear": LinearAttention})
KINDS = {kind.kind: kind for kind in (TASKS, INPUTS, ENCODINGS, OUTREPS, MODELS)}


class Parts(NamedTuple):
    """What a config stands for, built."""

    task: Task
    inputs: InputDistribution
    outrep: OutRep
    model: nn.Module


def resolve(raw: Mapping[str, Any]) -> RunConfig:
    """The run that ``raw`` describes, complete: whatever the config left open is filled in.

    Raises InputError for anything that could not be trained or tested, before it is tried.
    """
    config = RunConfig.checked(raw)
    problems, members = [], {}
    for name, kind in KINDS.items():
        try:
            members[name] = kind.complete(getattr(config, name))
        except InputError as error:
            problems += error.lines
    if problems:
        raise InputError(*problems)
    shift = members["outrep"]["shift"]
    if shift is None:
        task, outrep = TASKS.build(config.task), OUTREPS.build(config.outrep)
        shift = outrep.default_shift(task.span(1)[0])
    members["outrep"]["shift"] = shift + 0.0  # -0.0 is the same shift as 0.0
    config = RunConfig.checked(config.model_dump() | members)
    _check(config, build(config))
    return config


def build(config: RunConfig) -> Parts:
    """Task, input distribution, map and freshly initialized model (a stack of one)."""
    return Parts(*data(config), build_models([config]))


def data(config: RunConfig) -> tuple[Task, InputDistribution, OutRep]:
    """What decides a run's examples: task, input distribution, map."""
    return TASKS.build(config.task), INPUTS.build(config.inputs), OUTREPS.build(config.outrep)


def build_models(configs: Sequence[RunConfig]) -> nn.Module:
    """The freshly initialized models of runs of one shape, as one stack. Raises InputError for models that cannot be
    stacked."""
    make_encoding = partial(ENCODINGS.build, configs[0].encoding)
    stack = MODELS.build(configs[0].model, make_encoding, [stream(config.seed, "initial") for config in configs])
    for name, parameter in stack.named_parameters():
        if parameter.shape[:1] != (len(configs),):
            field = "encoding" if name.startswith("encoding.") else "model"
            raise InputError(
                f"{field}={getattr(configs[0], field)['name']}: parameter {name.split('.')[-1]} has shape "
                f"{tuple(parameter.shape)}; must begin with the number of models, as from layers.stacked"
            )
    return stack


def _check(config: RunConfig, parts: Parts) -> None:
    """Refuse what fits no single field: lengths beyond the encoding's, targets outside the map's domain."""
    for name in ("train_length", "test_length"):
        length, longest = getattr(config, name), parts.model.encoding.longest()
        if length > longest:
            raise InputError(
                f"{name}={length}: encoding={config.encoding['name']} has {longest + 2} positions, BOS and EOS "
                f"included, enough for lengths up to {longest}"
            )
    low, high = parts.task.span(max(config.train_length, config.test_length))
    shift, domain = parts.outrep.shift, parts.outrep.domain
    if not domain.contains(torch.tensor([low + shift, high + shift])).all():
        raise InputError(
            f"outrep.shift={shift:g}: takes the targets of task={config.task['name']} to "
            f"[{low + shift:g}, {high + shift:g}], which leaves the domain {domain} of outrep={config.outrep['name']}; "
            f"null chooses a shift that fits"
        )
    if config.evaluation.largest < high:
        largest = config.evaluation.largest
        raise InputError(f"evaluation.largest={largest:g}: must be at least the largest target {high:g}")
