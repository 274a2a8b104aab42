"""The family of languages: building, training and testing their models (see ``training.family.Family``)."""

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor, nn

from synthlab.language.config import LanguageConfig
from synthlab.language.construction import KINDS, build_adapters, build_extension, build_models, measure_laws, resolve
from synthlab.language.evaluation import by_context, double_window, score_facts, suffixes, temperature_within
from synthlab.language.languages import LANGUAGES
from synthlab.language.languages import LANGUAGES as TASKS
from synthlab.language.objective import WindowLoss, random_positions
from synthlab.language.pretraining import pretrain
from synthlab.language.trained import TrainedLanguage
from synthlab.models.encodings.base import encoding_of
from synthlab.models.language_model import takes_shortcuts
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.training.loop import Observer, Training, train_ensemble

__all__ = [
    "KINDS",
    "TASKS",
    "build_models",
    "evaluate_model",
    "make_objective",
    "measure_laws",
    "open_model",
    "resolve",
    "train_models",
]

open_model = TrainedLanguage


def make_objective(ensemble: nn.Module, configs: Sequence[LanguageConfig], device: str = "cpu") -> WindowLoss:
    """Return the objective of the first training.

    The last training has the regularizer and the sampler of positions, so the first has them only if there is no
    second.
    """
    return WindowLoss(ensemble, configs, configs[0].train_length, last=not configs[0].finetune.steps, device=device)


def train_models(
    ensemble: nn.Module, configs: Sequence[LanguageConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models, replace their encoding by the extension, and fine-tune them if the configs say so.

    Returns their training curves.
    """
    first = configs[0]
    if first.extension is None:
        protocols = [config.protocol for config in configs]
        return train_ensemble(ensemble.parameters(), make_objective(ensemble, configs, device), protocols, observe)
    trainings = pretrain(ensemble, configs, make_objective, observe, device)
    ensemble.encoding = build_extension(configs).to(device)
    if not first.finetune.steps or all(each.diverged_at is not None for each in trainings):
        return trainings
    length = first.finetune.length or first.train_length
    adapted = build_adapters(ensemble, configs)
    objective = WindowLoss(ensemble, configs, length, phase="_again", device=device, adapted=adapted)
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


@torch.no_grad()
def evaluate_model(ensemble: nn.Module, index: int, config: LanguageConfig) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return losses at every context length; and a table of one row.

    The row has the fitted temperature, misalignment, and recall.
    """
    member, places = Member(ensemble, index), stream(config.test_seed, "evaluation_positions")
    encoding = encoding_of(ensemble)
    draws = encoding.draws_positions

    def draw(tokens: Tensor) -> Tensor:
        return random_positions(encoding, tokens, places)

    def model(tokens: Tensor, positions: Tensor | None = None, last: int | None = None) -> Tensor:
        where = draw(tokens) if draws and positions is None else positions
        if takes_shortcuts(ensemble):
            return member(tokens, where, last=last)
        return member(tokens, where)[:, -(last or tokens.shape[1]) :]  # a user's model returns logits at all positions

    language = LANGUAGES.build(config.task)
    temperature = temperature_within(model, language, config)
    losses = by_context(model, language, config, double_window(config) if draws else encoding.alike_up_to, temperature)
    others = suffixes(model, language, config, draw if draws else None) | score_facts(model, language, config)
    return losses, pd.DataFrame([{"temperature": temperature} | others])


def _join_curves(first: Training, second: Training, steps: int) -> Training:
    """Return the curve of two trainings in sequence; the first took ``steps`` steps."""
    if first.diverged_at is not None:
        return first
    diverged_at = None if second.diverged_at is None else steps + second.diverged_at
    later = [steps + step for step in second.steps]
    return Training([*first.steps, *later], [*first.losses, *second.losses], diverged_at)
