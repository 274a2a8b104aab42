"""Construction of a run's task, input distribution, output map and models."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from synthlab.models.building import build_ensemble, check_parameters
from synthlab.models.encodings import ENCODINGS
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.transformer import Reference, Transformer
from synthlab.numbers.inputs import INPUTS, InputDistribution
from synthlab.numbers.outrep import OUTREPS, OutRep, OutRepModule
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import TASKS, NumberTask
from synthlab.rng import stream
from synthlab.runs.registry import Registry

MODELS = Registry(
    "model",
    nn.Module,
    {"transformer": Transformer, "reference": Reference, "linear": LinearAttention},
)
GROUPS: dict[str, Registry[Any]] = {
    registry.group: registry for registry in (TASKS, INPUTS, ENCODINGS, OUTREPS, MODELS)
}


def data(config: NumbersRun) -> tuple[NumberTask, InputDistribution, OutRep]:
    """Return the task, input distribution and output map, which decide a run's examples.

    A map with parameters is as it is before training.
    """
    return TASKS.build(config.task), INPUTS.build(config.inputs), build_map([config])


def build_map(configs: Sequence[NumbersRun]) -> OutRep:
    """Return the output map of runs that have the same; one with parameters serves all of them."""
    outrep = OUTREPS.build(configs[0].outrep)
    if isinstance(outrep, OutRepModule):
        outrep.initialise([stream(config.weight_seed, "outrep") for config in configs])
        check_parameters("outrep", configs[0], outrep, len(configs))
    return outrep


def module_of(ensemble: nn.Module) -> OutRepModule | None:
    """Return the output map that is part of an ensemble; None for maps without parameters."""
    outrep = getattr(ensemble, "outrep", None)
    return outrep if isinstance(outrep, OutRepModule) else None


def map_of(ensemble: nn.Module, index: int, config: NumbersRun) -> OutRep:
    """Return the trained output map of one model; ``config`` is the model's config."""
    outrep = module_of(ensemble)
    return OUTREPS.build(config.outrep) if outrep is None else outrep.member(index)


def build_models(configs: Sequence[NumbersRun]) -> nn.Module:
    """Initialize the models of runs of one shape as one ensemble, with the output map if that has parameters.

    Raises InputError for models that cannot form an ensemble.
    """
    ensemble = build_ensemble(MODELS, configs, [stream(config.weight_seed, "initial") for config in configs])
    outrep = build_map(configs)
    if isinstance(outrep, OutRepModule):
        ensemble.outrep = outrep
    return ensemble
