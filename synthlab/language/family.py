"""How language models are built, trained and tested: as ``training.family.Family`` has it."""

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor, nn

from synthlab.language.config import LanguageConfig
from synthlab.language.construction import build_encoding, build_models
from synthlab.language.evaluation import METRICS, by_context, facts, suffixes, temperature_within
from synthlab.language.languages import LANGUAGES
from synthlab.language.objective import WindowLoss, drawn_positions
from synthlab.language.pretraining import pretrain
from synthlab.models.encoding_base import encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.training.loop import Observer, Training, train

__all__ = ["METRICS", "build_models", "evaluate_model", "make_objective", "train_models"]


def make_objective(stack: nn.Module, configs: Sequence[LanguageConfig], device: str = "cpu") -> WindowLoss:
    """What the models of ``stack`` minimize first: with the regularizer, unless a second training has it."""
    return WindowLoss(stack, configs, configs[0].train_length, aligned=not configs[0].finetune.steps, device=device)


def train_models(
    stack: nn.Module, configs: Sequence[LanguageConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train freshly built models, put the extension in the place of their encoding, and train again where that is asked
    for; say how each one's training went."""
    first = configs[0]
    if first.extension is None:
        protocols = [config.protocol for config in configs]
        return train(stack.parameters(), make_objective(stack, configs, device), protocols, observe)
    trainings = pretrain(stack, configs, make_objective, observe, device)
    stack.encoding = build_encoding(first, "extension").to(device)
    if not first.finetune.steps or all(each.diverged_at is not None for each in trainings):
        return trainings
    length = first.finetune.length or first.train_length
    objective = WindowLoss(stack, configs, length, phase="_again", device=device)
    again = train(stack.parameters(), objective, [config.finetuned for config in configs], _later(observe, first))
    return [_joined(*pair, first.protocol.steps) for pair in zip(trainings, again, strict=True)]


@torch.no_grad()
def evaluate_model(stack: nn.Module, index: int, config: LanguageConfig) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Losses at every context length, and in one row what is measured beside them: the temperature of the calibrated
    ones, misalignment, and how well facts are recalled."""
    member, places = Member(stack, index), stream(config.evaluation.seed, "evaluation_positions")
    encoding = encoding_of(stack)
    draws = encoding.draws_positions

    def draw(tokens: Tensor) -> Tensor:
        return drawn_positions(encoding, tokens, places)

    def model(tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        return member(tokens, draw(tokens) if draws and positions is None else positions)

    language = LANGUAGES.build(config.language)
    temperature = temperature_within(model, language, config)
    losses = by_context(model, language, config, draws, temperature)
    beside = suffixes(model, language, config, draw if draws else None) | facts(model, language, config)
    return losses, pd.DataFrame([{"temperature": temperature} | beside])


def _later(observe: Observer | None, config: LanguageConfig) -> Observer | None:
    """``observe``, told the steps of both trainings."""
    return None if observe is None else lambda step, losses: observe(config.protocol.steps + step, losses)


def _joined(first: Training, second: Training, steps: int) -> Training:
    """Two trainings, one after the other, the first of which took ``steps``."""
    if first.diverged_at is not None:
        return first
    diverged_at = None if second.diverged_at is None else steps + second.diverged_at
    later = [steps + step for step in second.steps]
    return Training([*first.steps, *later], [*first.losses, *second.losses], diverged_at)
