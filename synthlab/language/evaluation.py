"""What is measured on a language model: loss by context length, misalignment, facts recalled by their depth.

Everything is measured on held-out texts that are the same for every model of a language.
"""

from collections.abc import Callable
from typing import cast

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.alignment.misalignment import Form, Model, misalignment
from synthlab.alignment.windows import least_context
from synthlab.language.calibration import best_temperature
from synthlab.language.config import LanguageConfig
from synthlab.language.source import Language
from synthlab.rng import stream

# What is recorded for each context length, and what it means; the last two where the language's own distribution is
# known.
METRICS = {
    "loss": "cross-entropy of the next token, nats",
    "calibrated": "the same at the temperature that is best within the training length, nats",
    "accuracy": "share of tokens that are the model's most probable",
    "perfect": "the same of the perfect predictor",
    "excess": "KL divergence of the model from the perfect predictor, nats",
}
ROWS = 32  # texts in one call: their attention fits the memory whatever the number of texts
Measured = dict[str, float]
DrawPositions = Callable[[Tensor], Tensor]  # of each token of texts [N, T], for models that draw them


def by_context(
    model: Model, language: Language, config: LanguageConfig, positions_drawn: bool, temperature: float = 1.0
) -> pd.DataFrame:
    """The ``METRICS`` after 1 to ``test_length`` tokens, averaged over the test texts.

    One window serves all contexts, since what follows is not seen; unless positions are drawn, for these tell how long
    the window is. Then contexts up to the training length come from windows of that length, those up to twice as much
    from windows twice as long, and so on.
    """
    texts = test_texts(language, config, config.test_length + 1)
    if not positions_drawn:
        return _losses(model, language, texts, temperature)
    parts, done = [], 0
    while done < config.test_length:
        end = min(max(2 * done, config.train_length), config.test_length)
        parts.append(_losses(model, language, texts[:, : end + 1], temperature)[done:])
        done = end
    return pd.concat(parts, ignore_index=True)


def _losses(model: Model, language: Language, texts: Int[Tensor, "N T"], temperature: float) -> pd.DataFrame:
    """The ``METRICS`` after 1 to T - 1 tokens of ``texts``."""
    totals: dict[str, Tensor] = {}
    for rows in texts.split(ROWS):
        logits, target = model(rows[:, :-1]), rows[:, 1:]
        found = {
            "loss": F.cross_entropy(logits.mT, target, reduction="none").double(),
            "calibrated": F.cross_entropy(logits.mT / temperature, target, reduction="none").double(),
            "accuracy": (logits.argmax(-1) == target).double(),
        }
        log_p = language.predict(rows[:, :-1])
        if log_p is not None:
            ratio = (log_p - logits.double().log_softmax(-1)).masked_fill(log_p.isneginf(), 0)
            found |= {
                "perfect": -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1),
                "excess": (log_p.exp() * ratio).sum(-1),
            }
        totals = {name: totals.get(name, 0) + losses.sum(0) for name, losses in found.items()}
    columns = {name: (total / len(texts)).numpy() for name, total in totals.items()}
    return pd.DataFrame({"length": range(1, texts.shape[1]), **columns})


def temperature_within(model: Model, language: Language, config: LanguageConfig) -> float:
    """The best temperature for contexts up to the training length, on held-out texts of their own: the losses that are
    measured with it are those of other texts, and of contexts that it was not fitted to."""
    texts = held_out(language, config, config.train_length + 1, "calibration")
    logits = torch.cat([model(rows[:, :-1]) for rows in texts.split(ROWS)])
    return best_temperature(logits, texts[:, 1:])


def suffixes(
    model: Model, language: Language, config: LanguageConfig, draw_positions: DrawPositions | None = None
) -> Measured:
    """The long-short misalignment within the training length, in both its forms, each distance with its standard
    error; and that of the perfect predictor, where there is one. A model that draws positions has one draw for all
    windows of a text."""
    high = config.train_length
    low = least_context(high, 0.5)
    needed: dict[Form, int] = {"last": high}
    if low < high:
        needed["overlap"] = 2 * high - low
    texts = test_texts(language, config, 2 * high - low)
    answering: dict[str, tuple[Model, DrawPositions | None]] = {"": (model, draw_positions)}
    if language.predict(texts[:1, :1]) is not None:  # one that is known is known for all tokens
        answering["perfect_"] = (cast(Model, language.predict), None)
    found: Measured = {}
    for who, (answer, draw) in answering.items():
        for form, length in needed.items():
            compared = texts[:, -length:]
            positions = None if draw is None else draw(compared)
            windows = stream(config.evaluation.seed, "windows")
            measured = misalignment(answer, compared, low, high, windows, form=form, positions=positions)
            for distance, estimate in measured._asdict().items():
                name = f"{who}{distance}{'' if form == 'last' else '_overlap'}"
                found |= {name: estimate.value, f"{name}_error": estimate.error}
    return found


def facts(model: Model, language: Language, config: LanguageConfig) -> Measured:
    """How often the most probable answer is right, and the loss of the right one, for facts at each of the depths in
    texts of each of the lengths; nothing for languages without facts."""
    found: Measured = {}
    for multiple in config.evaluation.lengths:
        length = max(2, round(multiple * config.train_length))
        for depth in config.evaluation.depths:
            asked = language.questions(
                config.evaluation.questions, length, depth, stream(config.evaluation.seed, "questions")
            )
            if asked is None:
                return {}
            logits = torch.cat([model(rows)[:, -1] for rows in asked.tokens.split(ROWS)]).double()
            right = (logits.argmax(-1) == asked.answers).double().mean().item()
            found[f"accuracy@{length}@{depth:g}"] = right
            found[f"answer_loss@{length}@{depth:g}"] = F.cross_entropy(logits, asked.answers).item()
    return found


def test_texts(language: Language, config: LanguageConfig, length: int) -> Int[Tensor, "N T"]:
    """Held-out texts, the same for every model."""
    return held_out(language, config, length, "evaluation")


def held_out(language: Language, config: LanguageConfig, length: int, purpose: str) -> Int[Tensor, "N T"]:
    """``evaluation.sequences`` held-out texts for one purpose, drawn from a stream of its own."""
    return language.draw(config.evaluation.sequences, length, stream(config.evaluation.seed, purpose), held_out=True)
