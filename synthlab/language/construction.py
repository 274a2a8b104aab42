"""Construction of a run's models, the extension of their encoding, and their adapters."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

from synthlab.errors import InputError
from synthlab.finetuning.adapters import ADAPTERS, AdaptedModel
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.languages import TASKS
from synthlab.language.run import LanguageRun
from synthlab.models.building import build_ensemble
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.models.language_model import MODELS, LanguageModel
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.runs.registry import Registry

GROUPS: dict[str, Registry[Any]] = {
    "task": TASKS,
    "encoding": ENCODINGS,
    "extension": ENCODINGS,
    "model": MODELS,
    "positions": SAMPLERS,
    "pattern": PATTERNS,
    "lora": ADAPTERS,
}


def build_extension(configs: Sequence[LanguageRun]) -> Encoding:
    """Initialize the extension of runs of one shape, as one ensemble. Raises InputError."""
    first = configs[0]
    make = partial(ENCODINGS.build, first.extension or {}, field="extension")
    sizes = {key: value for key, value in first.model.items() if key != "name"}
    try:
        extension = LanguageModel.fit_encoding(make, len(configs), **sizes)
    except InputError as error:  # the encoding cannot name the config group
        raise InputError(*(line.replace("encoding.", "extension.") for line in error.lines)) from None
    extension.initialise([stream(config.weight_seed, "extension") for config in configs])
    return extension


def build_adapters(ensemble: nn.Module, configs: Sequence[LanguageRun]) -> AdaptedModel | None:
    """Return the ensemble with the adapters of its second training; None if that trains all weights."""
    if configs[0].lora is None:
        return None
    draws = [stream(config.weight_seed, "adapters") for config in configs]
    return AdaptedModel(ensemble, ADAPTERS.build(configs[0].lora), draws)


def build_models(configs: Sequence[LanguageRun]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, TASKS.build(configs[0].task).vocabulary)
