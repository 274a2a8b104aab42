"""The first training of runs with an extension, cached for runs that differ only in their fine-tuning.

Each process caches its latest models. This changes no number: training again gives the same model to the last bit.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from synthlab.language.construction import build_models
from synthlab.language.run import LanguageRun
from synthlab.training.loop import Observer, Training, train_ensemble

CACHED = 64  # number of models: a few tens of MB


Pretrained = tuple[list[Tensor], Training]  # a model's parameters after its first training, and the training curve
_cache: OrderedDict[str, Pretrained] = OrderedDict()


def pretrain(
    ensemble: nn.Module,
    configs: Sequence[LanguageRun],
    make_objective: Callable[[nn.Module, Sequence[LanguageRun], str], Callable[[], Tensor]],
    observe: Observer | None = None,
    device: str = "cpu",
) -> list[Training]:
    """Set the parameters of ``ensemble`` to those after the first training; return the training curves.

    Models that are not cached are trained with the objective that ``make_objective`` returns for them.
    """
    keys = [f"{device} {config.pretraining}" for config in configs]
    missing = {key: config for key, config in zip(keys, configs, strict=True) if key not in _cache}
    watched = observe if list(missing) == keys else None
    pretrained = {key: _cache[key] for key in keys if key in _cache}
    pretrained |= _train_missing(missing, make_objective, watched, device)
    with torch.no_grad():
        for index, key in enumerate(keys):
            for parameter, value in zip(ensemble.parameters(), pretrained[key][0], strict=True):
                parameter[index] = value
    trainings = [pretrained[key][1] for key in keys]
    if observe is not None and watched is None:
        for point, step in enumerate(min((training.steps for training in trainings), key=len)):
            observe(step, [training.losses[point] for training in trainings])
    return trainings


def _train_missing(
    missing: dict[str, LanguageRun], make_objective: Callable, observe: Observer | None, device: str
) -> dict[str, Pretrained]:
    if not missing:
        return {}
    configs = list(missing.values())
    models = build_models(configs).to(device)
    protocols = [config.protocol for config in configs]
    trainings = train_ensemble(models.parameters(), make_objective(models, configs, device), protocols, observe)
    pretrained = {
        key: ([parameter.detach()[index].clone() for parameter in models.parameters()], training)
        for index, (key, training) in enumerate(zip(missing, trainings, strict=True))
    }
    _cache.update(pretrained)
    while len(_cache) > CACHED:
        _cache.popitem(last=False)
    return pretrained
