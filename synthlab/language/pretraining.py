"""The first training of runs with an extension, shared by those that differ in what comes after it only.

A study of fine-tuning starts the same few models over and over: a seed's first training is one, whatever the extension,
the coefficient and the steps that follow. A process keeps those that it made last. A run's numbers do not depend on it:
trained again, the model is the same to the last bit.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from synthlab.language.config import LanguageConfig
from synthlab.language.construction import build_models
from synthlab.training.loop import Observer, Training, train

KEPT = 64  # models: a few tens of MB


class Pretrained(NamedTuple):
    """A model's parameters after its first training, and how that went."""

    values: list[Tensor]
    training: Training


_kept: OrderedDict[str, Pretrained] = OrderedDict()


def pretrain(
    stack: nn.Module,
    configs: Sequence[LanguageConfig],
    make_objective: Callable[[nn.Module, Sequence[LanguageConfig], str], Callable[[], Tensor]],
    observe: Observer | None = None,
    device: str = "cpu",
) -> list[Training]:
    """Give the models of ``stack`` the parameters that they have after their first training, in which they minimize
    what ``make_objective`` returns for those trained together; say how each one's went."""
    keys = [f"{device} {config.pretraining}" for config in configs]
    missing = {key: config for key, config in zip(keys, configs, strict=True) if key not in _kept}
    watched = observe if list(missing) == keys else None
    found = {key: _kept[key] for key in keys if key in _kept} | _trained(missing, make_objective, watched, device)
    with torch.no_grad():
        for index, key in enumerate(keys):
            for parameter, value in zip(stack.parameters(), found[key].values, strict=True):
                parameter[index] = value
    trainings = [found[key].training for key in keys]
    if observe is not None and watched is None:
        _observe_again(trainings, observe)
    return trainings


def _trained(
    missing: dict[str, LanguageConfig], make_objective: Callable, observe: Observer | None, device: str
) -> dict[str, Pretrained]:
    if not missing:
        return {}
    configs = list(missing.values())
    models = build_models(configs).to(device)
    protocols = [config.protocol for config in configs]
    trainings = train(models.parameters(), make_objective(models, configs, device), protocols, observe)
    found = {
        key: Pretrained([parameter.detach()[index].clone() for parameter in models.parameters()], training)
        for index, (key, training) in enumerate(zip(missing, trainings, strict=True))
    }
    _kept.update(found)
    while len(_kept) > KEPT:
        _kept.popitem(last=False)
    return found


def _observe_again(trainings: Sequence[Training], observe: Observer) -> None:
    """Show the curves of trainings that are over, as far as all of them got."""
    for point, step in enumerate(min((training.steps for training in trainings), key=len)):
        observe(step, [training.losses[point] for training in trainings])
