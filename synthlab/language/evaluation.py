"""Evaluation of a language model: loss by context length, misalignment, recall by needle depth."""

from collections.abc import Callable
from itertools import product
from typing import cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.alignment.misalignment import Form, Model, misalignment
from synthlab.alignment.windows import min_context
from synthlab.language.config import LanguageConfig
from synthlab.language.languages.source import Language
from synthlab.rng import stream

COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures; 1 leaves the model unchanged
HALVINGS = 24  # bisection steps in log T: to a relative precision of a millionth
ROWS = 32  # number of texts in one call, to limit the memory of attention
Measured = dict[str, float]
DrawPositions = Callable[[Tensor], Tensor]  # from texts [N, T] to random positions [N, T]
# From texts [N, T], perhaps their positions, and ``last``: logits after each prefix, or after the last ``last`` only.
Answers = Callable[..., Tensor]
WindowSize = Callable[[int], float]  # from a number of tokens to that of the window in which they are evaluated


def by_context(
    model: Answers, language: Language, config: LanguageConfig, window: WindowSize, temperature: float = 1.0
) -> pd.DataFrame:
    """Return the ``METRICS`` after 1 to ``test_length`` tokens, averaged over the test texts.

    A context of k tokens is evaluated in a window of up to ``window(k)`` tokens. One window gives all contexts unless
    the encoding depends on the length. Then ``Encoding.alike_up_to`` gives windows that encode each context like a text
    of its own; with random positions, ``double_window`` gives the windows.
    """
    totals: dict[str, Tensor] = {}
    for texts in draw_held_out(language, config, config.test_length + 1).split(ROWS):
        truth, parts, done = language.predict(texts[:, :-1]), [], 0
        while done < config.test_length:
            end = int(min(window(done + 1), config.test_length))
            known = None if truth is None else truth[:, done:end]
            parts.append(_losses(model, texts[:, : end + 1], end - done, known, temperature))
            done = end
        for name in parts[0]:
            totals[name] = totals.get(name, 0) + torch.cat([part[name] for part in parts])
    columns = {name: (total / config.evaluation.sequences).numpy() for name, total in totals.items()}
    return pd.DataFrame({"length": range(1, config.test_length + 1), **columns})


def double_window(config: LanguageConfig) -> WindowSize:
    """Return windows of the training length for contexts up to it, and twice as long for each doubling."""
    return lambda length: max(2 * (length - 1), config.train_length)


def _losses(
    model: Answers, texts: Int[Tensor, "N T"], last: int, truth: Float[Tensor, "N n V"] | None, temperature: float
) -> dict[str, Float[Tensor, " n"]]:
    """Return the ``METRICS`` at the last n tokens of ``texts``, each predicted from those before it, summed over texts.

    ``truth`` has the Bayes-optimal log-probabilities there, if they are known.
    """
    logits, target = model(texts[:, :-1], last=last), texts[:, -last:]
    losses = {
        "loss": F.cross_entropy(logits.mT, target, reduction="none").double(),
        "calibrated": F.cross_entropy(logits.mT / temperature, target, reduction="none").double(),
        "accuracy": (logits.argmax(-1) == target).double(),
    }
    if truth is not None:
        ratio = (truth - logits.double().log_softmax(-1)).masked_fill(truth.isneginf(), 0)
        losses |= {
            "perfect": -truth.gather(-1, target.unsqueeze(-1)).squeeze(-1),
            "excess": (truth.exp() * ratio).sum(-1),
        }
    return {name: values.sum(0) for name, values in losses.items()}


def temperature_within(model: Model, language: Language, config: LanguageConfig) -> float:
    """Return the best temperature for contexts up to the training length, fitted on held-out texts.

    These are not the test texts.
    """
    texts = draw_held_out(language, config, config.train_length + 1, "calibration")
    logits = torch.cat([model(rows[:, :-1]) for rows in texts.split(ROWS)])
    return best_temperature(logits, texts[:, 1:])


def best_temperature(logits: Float[Tensor, "*N V"], tokens: Int[Tensor, "*N"]) -> float:
    """Return the temperature T that minimizes the cross-entropy of softmax(logits / T) on ``tokens``.

    Source: Guo et al., 2017, section 4.2. It is found by bisection: the derivative with respect to 1 / T is the
    expected logit minus the target's.
    """
    logits = logits.flatten(0, -2).float()
    target = logits.gather(-1, tokens.flatten().unsqueeze(-1)).double().mean()
    low, high = torch.tensor([COLDEST, HOTTEST], dtype=torch.float64).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = ((logits / middle.exp()).softmax(-1) * logits).sum(-1).double().mean()
        low, high = (low, middle) if expected < target else (middle, high)
    return ((low + high) / 2).exp().item()


def suffixes(
    model: Model, language: Language, config: LanguageConfig, draw_positions: DrawPositions | None = None
) -> Measured:
    """Return the long-short misalignment within the training length, in both forms, with standard errors.

    If the Bayes-optimal predictor is known, its misalignment is included. Random positions are drawn once for all
    windows of a text.
    """
    high = config.train_length
    low = min_context(high, 0.5)
    needed: dict[Form, int] = {"last": high}
    if low < high:
        needed["overlap"] = 2 * high - low
    texts = draw_held_out(language, config, 2 * high - low)
    predictors: dict[str, tuple[Model, DrawPositions | None]] = {"": (model, draw_positions)}
    if language.predict(texts[:1, :1]) is not None:  # if known for these tokens, then for all
        predictors["perfect_"] = (cast(Model, language.predict), None)
    values: Measured = {}
    for prefix, (predictor, draw) in predictors.items():
        for form, length in needed.items():
            compared = texts[:, -length:]
            positions = None if draw is None else draw(compared)
            windows = stream(config.test_seed, "windows")
            measured = misalignment(predictor, compared, low, high, windows, form=form, positions=positions)
            for distance, estimate in measured._asdict().items():
                name = f"{prefix}{distance}{'' if form == 'last' else '_overlap'}"
                values |= {name: estimate.value, f"{name}_error": estimate.error}
    return values


def score_facts(model: Answers, language: Language, config: LanguageConfig) -> Measured:
    """Return the top-1 accuracy and the cross-entropy of the answer to each kind of question.

    Facts are at each of the depths in texts of each of the lengths. The values of ``recall`` are called ``accuracy``
    and ``answer_loss``; those of another kind have its name, without and with ``_loss``. Empty for languages without
    facts.
    """
    asked, values = config.evaluation, Measured()
    for multiple, depth, (kind, shortest) in product(asked.lengths, asked.depths, language.kinds.items()):
        length = max(shortest, round(multiple * config.train_length))
        questions = language.questions(asked.questions, length, depth, stream(config.test_seed, "questions"), kind)
        if questions is None:
            return {}
        logits = torch.cat([model(rows, last=1)[:, -1] for rows in questions.tokens.split(ROWS)]).double()
        accuracy, loss = ("accuracy", "answer_loss") if kind == "recall" else (kind, f"{kind}_loss")
        values[f"{accuracy}@{length}@{depth:g}"] = (logits.argmax(-1) == questions.answers).double().mean().item()
        values[f"{loss}@{length}@{depth:g}"] = F.cross_entropy(logits, questions.answers).item()
    return values


def draw_held_out(
    language: Language, config: LanguageConfig, length: int, purpose: str = "evaluation"
) -> Int[Tensor, "N T"]:
    """Draw ``evaluation.sequences`` held-out texts from the RNG stream ``purpose``, by default the test texts."""
    return language.draw(config.evaluation.sequences, length, stream(config.test_seed, purpose), held_out=True)
