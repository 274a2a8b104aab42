"""Language models are built and trained here, once, or twice with an extension of their encoding.

The first training of runs with an extension is cached for runs that differ only in their fine-tuning. Each process
caches its latest models. This changes no number: training again gives the same model to the last bit.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.finetuning.adapters import ADAPTERS, AdaptedModel
from synthlab.language.languages import TASKS
from synthlab.language.objective import WindowLoss
from synthlab.language.run import LanguageRun
from synthlab.models.building import build_ensemble
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.models.language_model import MODELS, LanguageModel
from synthlab.rng import stream
from synthlab.training.loop import Observer, Training, train_ensemble

CACHE_SIZE = 64  # number of models: a few tens of MB
Pretrained = tuple[list[Tensor], Training]  # a model's parameters after its first training, and the training curve
_cache: dict[str, Pretrained] = {}


def build_models(configs: Sequence[LanguageRun]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, TASKS.build(configs[0].task).vocabulary)


def build_extension(configs: Sequence[LanguageRun]) -> Encoding:
    """Initialize the extension of runs of one shape, as one ensemble. Raises InputError."""
    first = configs[0]
    make = partial(ENCODINGS.build, first.extension or {}, field="extension")
    sizes = {key: value for key, value in first.model.items() if key != "name"}
    try:
        extension = LanguageModel.build_encoding(make, len(configs), **sizes)
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


def train_models(
    ensemble: nn.Module, configs: Sequence[LanguageRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models, replace their encoding by the extension, and fine-tune them if the configs say so.

    Returns their training curves.
    """
    first = configs[0]
    if first.extension is None:
        return _train_once(ensemble, configs, observe, device)
    trainings = pretrain(ensemble, configs, observe, device)
    ensemble.encoding = build_extension(configs).to(device)
    if not first.finetune.steps or all(each.diverged_at is not None for each in trainings):
        return trainings
    adapted = build_adapters(ensemble, configs)
    objective = WindowLoss(ensemble, configs, device, again=True, adapted=adapted)
    trained = ensemble if adapted is None else adapted

    def later(step: int, losses: list[float]) -> None:  # steps count from the start of the first training
        if adapted is not None:
            adapted.merge()
        if observe is not None:
            observe(first.protocol.steps + step, losses)

    again = train_ensemble(trained.parameters(), objective, [config.finetuned for config in configs], later)
    if adapted is not None:
        adapted.merge()
    return [_join_curves(*pair, first.protocol.steps) for pair in zip(trainings, again, strict=True)]


def pretrain(
    ensemble: nn.Module, configs: Sequence[LanguageRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Set the parameters of ``ensemble`` to those after the first training; return the training curves.

    Only models that are not cached are trained.
    """
    keys = [f"{device} {config.pretraining}" for config in configs]
    missing = {key: config for key, config in zip(keys, configs, strict=True) if key not in _cache}
    watched = observe if list(missing) == keys else None
    pretrained = {key: _cache[key] for key in keys if key in _cache}
    if missing:
        models = build_models(list(missing.values())).to(device)
        trainings = _train_once(models, list(missing.values()), watched, device)
        for index, (key, training) in enumerate(zip(missing, trainings, strict=True)):
            pretrained[key] = [each.detach()[index].clone() for each in models.parameters()], training
            _cache[key] = pretrained[key]
        while len(_cache) > CACHE_SIZE:
            del _cache[next(iter(_cache))]
    with torch.no_grad():
        for index, key in enumerate(keys):
            for parameter, value in zip(ensemble.parameters(), pretrained[key][0], strict=True):
                parameter[index] = value
    trainings = [pretrained[key][1] for key in keys]
    if observe is not None and watched is None:
        for point, step in enumerate(min((training.steps for training in trainings), key=len)):
            observe(step, [training.losses[point] for training in trainings])
    return trainings


def _train_once(
    ensemble: nn.Module, configs: Sequence[LanguageRun], observe: Observer | None, device: str
) -> list[Training]:
    objective = WindowLoss(ensemble, configs, device)
    return train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], observe)


def _join_curves(first: Training, second: Training, steps: int) -> Training:
    """Return the curve of two trainings in sequence; the first took ``steps`` steps."""
    if first.diverged_at is not None:
        return first
    diverged_at = None if second.diverged_at is None else steps + second.diverged_at
    later = [steps + step for step in second.steps]
    return Training([*first.steps, *later], [*first.losses, *second.losses], diverged_at)
