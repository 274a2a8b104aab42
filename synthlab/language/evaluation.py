"""Evaluation of M language models on the same texts: loss by context length, misalignment, recall by needle depth."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.alignment.misalignment import Estimate, Form, Model, measure_distances
from synthlab.alignment.windows import min_context
from synthlab.language.config import LanguageConfig
from synthlab.language.languages.source import Language
from synthlab.rng import stream

COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures; 1 leaves the model unchanged
HALVINGS = 24  # bisection steps in log T: to a relative precision of a millionth
ROWS = 32  # number of texts in one call, to limit the memory of attention
Measured = dict[str, float]
DrawPositions = Callable[[Tensor], Tensor]  # from texts [N, T] to random positions [N, T]
# From texts [N, T], perhaps their positions, and ``last``: the logits [M, N, n, V] of M models after each prefix, or
# after the last ``last`` only.
Answers = Callable[..., Tensor]
WindowSize = Callable[[int], float]  # from a number of tokens to that of the window in which they are evaluated


def by_context(
    models: Answers,
    language: Language,
    config: LanguageConfig,
    window: WindowSize,
    temperatures: Sequence[float] = (1.0,),
) -> list[pd.DataFrame]:
    """Return, for each model, the ``METRICS`` after 1 to ``test_length`` tokens, averaged over the test texts.

    A context of k tokens is evaluated in a window of up to ``window(k)`` tokens. One window gives all contexts unless
    the encoding depends on the length. Then ``Encoding.alike_up_to`` gives windows that encode each context like a text
    of its own; with random positions, ``double_window`` gives the windows.
    """
    totals: dict[str, Tensor] = {}
    scales = torch.tensor(temperatures)
    for texts in draw_held_out(language, config, config.test_length + 1).split(ROWS):
        truth, parts, done = language.predict(texts[:, :-1]), [], 0
        while done < config.test_length:
            end = int(min(window(done + 1), config.test_length))
            known = None if truth is None else truth[:, done:end]
            parts.append(_losses(models, texts[:, : end + 1], end - done, known, scales))
            done = end
        for name in parts[0]:
            totals[name] = totals.get(name, 0) + torch.cat([part[name] for part in parts], 1)
    columns = {name: (total / config.evaluation.sequences).cpu().numpy() for name, total in totals.items()}
    lengths = range(1, config.test_length + 1)
    return [
        pd.DataFrame({"length": lengths, **{name: values[index] for name, values in columns.items()}})
        for index in range(len(scales))
    ]


def double_window(config: LanguageConfig) -> WindowSize:
    """Return windows of the training length for contexts up to it, and twice as long for each doubling."""
    return lambda length: max(2 * (length - 1), config.train_length)


def _losses(
    models: Answers,
    texts: Int[Tensor, "N T"],
    last: int,
    truth: Float[Tensor, "N n V"] | None,
    temperatures: Float[Tensor, " M"],
) -> dict[str, Float[Tensor, "M n"]]:
    """Return the ``METRICS`` at the last n tokens of ``texts``, each predicted from those before it, summed over texts.

    ``truth`` has the Bayes-optimal log-probabilities there, if they are known.
    """
    logits = models(texts[:, :-1], last=last)
    target = texts[:, -last:].to(logits.device).expand(logits.shape[:-1])
    scales = temperatures.to(logits).view(-1, 1, 1, 1)

    def losses_of(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, 1).mT, target.flatten(0, 1), reduction="none").double().view_as(target)

    losses = {
        "loss": losses_of(logits),
        "calibrated": losses_of(logits / scales),
        "accuracy": (logits.argmax(-1) == target).double(),
    }
    if truth is not None:
        truth = truth.to(logits.device)
        ratio = (truth - logits.double().log_softmax(-1)).masked_fill(truth.isneginf(), 0)
        losses |= {
            "perfect": -truth.expand(logits.shape).gather(-1, target.unsqueeze(-1)).squeeze(-1),
            "excess": (truth.exp() * ratio).sum(-1),
        }
    return {name: values.sum(1) for name, values in losses.items()}


def temperatures_within(models: Answers, language: Language, config: LanguageConfig) -> list[float]:
    """Return the best temperature of each model for contexts up to the training length, fitted on held-out texts.

    These are not the test texts.
    """
    texts = draw_held_out(language, config, config.train_length + 1, "calibration")
    logits = torch.cat([models(rows[:, :-1]) for rows in texts.split(ROWS)], 1)
    return [best_temperature(each, texts[:, 1:]) for each in logits]


def best_temperature(logits: Float[Tensor, "*N V"], tokens: Int[Tensor, "*N"]) -> float:
    """Return the temperature T that minimizes the cross-entropy of softmax(logits / T) on ``tokens``.

    Source: Guo et al., 2017, section 4.2. It is found by bisection: the derivative with respect to 1 / T is the
    expected logit minus the target's.
    """
    logits = logits.flatten(0, -2).float()
    target = logits.gather(-1, tokens.to(logits.device).flatten().unsqueeze(-1)).double().mean()
    low, high = torch.tensor([COLDEST, HOTTEST], dtype=torch.float64).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = ((logits / middle.exp()).softmax(-1) * logits).sum(-1).double().mean()
        low, high = (low, middle) if expected < target else (middle, high)
    return ((low + high) / 2).exp().item()


def suffixes(
    models: Answers, language: Language, config: LanguageConfig, draw_positions: DrawPositions | None = None
) -> list[Measured]:
    """Return each model's long-short misalignment within the training length, in both forms, with standard errors.

    If the Bayes-optimal predictor is known, its misalignment is included. Random positions are drawn once for all
    windows of a text.
    """
    high = config.train_length
    low = min_context(high, 0.5)
    needed: dict[Form, int] = {"last": high}
    if low < high:
        needed["overlap"] = 2 * high - low
    texts = draw_held_out(language, config, 2 * high - low)
    predictors: dict[str, tuple[Model, DrawPositions | None]] = {"": (models, draw_positions)}
    if language.predict(texts[:1, :1]) is not None:  # if known for these tokens, then for all
        predictors["perfect_"] = (lambda tokens: cast(Tensor, language.predict(tokens.cpu())).unsqueeze(0), None)
    columns: dict[str, list[float]] = {}
    for prefix, (predictor, draw) in predictors.items():
        for form, length in needed.items():
            compared = texts[:, -length:]
            positions = None if draw is None else draw(compared)
            windows = stream(config.test_seed, "windows")
            found = measure_distances(predictor, compared, low, high, windows, form=form, positions=positions)
            for distance, of_models in found._asdict().items():
                estimates = [Estimate.from_values(values) for values in of_models]
                name = f"{prefix}{distance}{'' if form == 'last' else '_overlap'}"
                columns |= {
                    name: [each.value for each in estimates],
                    f"{name}_error": [each.error for each in estimates],
                }
    count = max(map(len, columns.values()))  # the perfect predictor is one for all
    return [{name: values[index % len(values)] for name, values in columns.items()} for index in range(count)]


def score_facts(models: Answers, language: Language, config: LanguageConfig) -> list[Measured]:
    """Return each model's top-1 accuracy and cross-entropy of the answer to each kind of question.

    Facts are at each of the depths in texts of each of the lengths. The values of ``recall`` are called ``accuracy``
    and ``answer_loss``; those of another kind have its name, without and with ``_loss``. Empty for languages without
    facts.
    """
    asked, columns = config.evaluation, {}
    for multiple, depth, (kind, shortest) in product(asked.lengths, asked.depths, language.kinds.items()):
        length = max(shortest, round(multiple * config.train_length))
        questions = language.questions(asked.questions, length, depth, stream(config.test_seed, "questions"), kind)
        if questions is None:
            return []
        logits = torch.cat([models(rows, last=1)[:, :, -1] for rows in questions.tokens.split(ROWS)], 1).double()
        answers = questions.answers.to(logits.device)
        accuracy, loss = ("accuracy", "answer_loss") if kind == "recall" else (kind, f"{kind}_loss")
        columns[f"{accuracy}@{length}@{depth:g}"] = (logits.argmax(-1) == answers).double().mean(1).tolist()
        columns[f"{loss}@{length}@{depth:g}"] = [F.cross_entropy(each, answers).item() for each in logits]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def draw_held_out(
    language: Language, config: LanguageConfig, length: int, purpose: str = "evaluation"
) -> Int[Tensor, "N T"]:
    """Draw ``evaluation.sequences`` held-out texts from the RNG stream ``purpose``, by default the test texts."""
    return language.draw(config.evaluation.sequences, length, stream(config.test_seed, purpose), held_out=True)
