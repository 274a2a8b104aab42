"""Evaluation of M language models at once: loss by context length, misalignment, recall by needle depth.

Each has test texts of its own, drawn with its test seed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.language.languages import TASKS
from synthlab.language.languages.source import LanguageTask
from synthlab.language.objective import random_positions
from synthlab.language.run import LanguageRun
from synthlab.longshort.misalignment import Estimate, Form, Model, measure_distances
from synthlab.longshort.windows import min_context
from synthlab.models.encodings.base import encoding_of
from synthlab.models.language_model import takes_shortcuts
from synthlab.models.layers import Members
from synthlab.rng import stream
from synthlab.training.family import tabulate

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0  # the range of temperatures; 1 leaves the model unchanged
HALVINGS = 24  # bisection steps in log T: to a relative precision of a millionth
ROWS = 32  # number of texts in one call, to limit the memory of attention
Measured = dict[str, float]
DrawPositions = Callable[[Tensor], Tensor]  # from texts [M, N, T] to random positions [M, N, T]
Configs = Sequence[LanguageRun]  # those of the models, which differ in seeds only
# From texts [M, N, T] of M models, perhaps their positions, and ``last``: the logits [M, N, n, V] after each prefix, or
# after the last ``last`` only.
Answers = Callable[..., Tensor]
WindowSize = Callable[[int], float]  # from a number of tokens to that of the window in which they are evaluated


@torch.no_grad()
def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Configs
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return losses at every context length; and a table of one row.

    The row has the fitted temperature, misalignment, and recall.
    """
    encoding, members = encoding_of(ensemble), Members(ensemble, indices)
    draws, generators = encoding.draws_positions, [stream(each.test_seed, "evaluation_positions") for each in configs]

    def draw(tokens: Tensor) -> Tensor:
        rows, length = tokens.shape[1:]
        return torch.stack([random_positions(encoding, rows, length, generator) for generator in generators])

    def models(tokens: Tensor, positions: Tensor | None = None, last: int | None = None) -> Tensor:
        where = draw(tokens) if draws and positions is None else positions
        tokens = tokens.to(members.device)
        if takes_shortcuts(ensemble):
            return members(tokens, where, last=last)
        return members(tokens, where)[:, :, -(last or tokens.shape[-1]) :]  # a user's model returns all logits

    language = TASKS.build(configs[0].tested_task)
    temperatures = temperatures_within(models, language, configs)
    windows = double_window(configs[0]) if draws else encoding.alike_up_to
    losses = by_context(models, language, configs, windows, temperatures)
    others = suffixes(models, language, configs, draw if draws else None)
    rows = zip(temperatures, others, score_facts(models, language, configs), strict=True)
    tables = [pd.DataFrame([{"temperature": temperature} | one | two]) for temperature, one, two in rows]
    return list(zip(losses, tables, strict=True))


def by_context(
    models: Answers,
    language: LanguageTask,
    configs: Configs,
    window: WindowSize,
    temperatures: Sequence[float] | None = None,
) -> list[pd.DataFrame]:
    """Return, for each model, the ``METRICS`` after 1 to ``test_length`` tokens, averaged over the test texts.

    A context of k tokens is evaluated in a window of up to ``window(k)`` tokens. One window gives all contexts unless
    the encoding depends on the length. Then ``Encoding.alike_up_to`` gives windows that encode each context like a text
    of its own; with random positions, ``double_window`` gives the windows. Of contexts beyond ``evaluation.window`` the
    models read that many last tokens, as a text of their own.
    """
    totals: dict[str, Tensor] = {}
    longest, scales = configs[0].test_length, torch.tensor(temperatures or [1.0] * len(configs))
    reads = configs[0].evaluation.window or longest
    for texts in draw_held_out(language, configs, longest + 1).split(ROWS, 1):
        truth, parts, done = predict(language, texts[..., :-1]), [], 0
        while done < longest:
            end = int(min(window(done + 1), longest, max(reads, done + 1)))
            known = None if truth is None else truth[:, :, done:end]
            parts.append(_losses(models, texts[..., max(0, end - reads) : end + 1], end - done, known, scales))
            done = end
        for name in parts[0]:
            totals[name] = totals.get(name, 0) + torch.cat([part[name] for part in parts], 1)
    columns = {name: (total / configs[0].evaluation.sequences).cpu().numpy() for name, total in totals.items()}
    return tabulate(columns)


def double_window(config: LanguageRun) -> WindowSize:
    """Return windows of the training length for contexts up to it, and twice as long for each doubling."""
    return lambda length: max(2 * (length - 1), config.train_length)


def _losses(
    models: Answers,
    texts: Int[Tensor, "M N T"],
    last: int,
    truth: Float[Tensor, "M N n V"] | None,
    temperatures: Float[Tensor, " M"],
) -> dict[str, Float[Tensor, "M n"]]:
    """Return the ``METRICS`` at the last n tokens of ``texts``, each predicted from those before it, summed over texts.

    ``truth`` has the Bayes-optimal log-probabilities there, if they are known.
    """
    logits = models(texts[..., :-1], last=last)
    target = texts[..., -last:].to(logits.device)
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
            "perfect": -truth.gather(-1, target.unsqueeze(-1)).squeeze(-1),
            "excess": (truth.exp() * ratio).sum(-1),
        }
    return {name: values.sum(1) for name, values in losses.items()}


def temperatures_within(models: Answers, language: LanguageTask, configs: Configs) -> list[float]:
    """Return the best temperature of each model for contexts up to the training length, fitted on held-out texts.

    These are not the test texts.
    """
    texts = draw_held_out(language, configs, configs[0].train_length + 1, "calibration")
    logits = torch.cat([models(rows[..., :-1]) for rows in texts.split(ROWS, 1)], 1)
    return [best_temperature(*each) for each in zip(logits, texts[..., 1:], strict=True)]


def best_temperature(logits: Float[Tensor, "*N V"], tokens: Int[Tensor, "*N"]) -> float:
    """Return the temperature T that minimizes the cross-entropy of softmax(logits / T) on ``tokens``.

    Source: Guo et al., 2017, section 4.2. It is found by bisection: the derivative with respect to 1 / T is the
    expected logit minus the target's.
    """
    logits = logits.flatten(0, -2).float()
    target = logits.gather(-1, tokens.to(logits.device).flatten().unsqueeze(-1)).double().mean()
    low, high = torch.tensor([MIN_TEMPERATURE, MAX_TEMPERATURE], dtype=torch.float64).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = ((logits / middle.exp()).softmax(-1) * logits).sum(-1).double().mean()
        low, high = (low, middle) if expected < target else (middle, high)
    return ((low + high) / 2).exp().item()


def suffixes(
    models: Answers, language: LanguageTask, configs: Configs, draw_positions: DrawPositions | None = None
) -> list[Measured]:
    """Return each model's long-short misalignment within the training length, in both forms, with standard errors.

    If the Bayes-optimal predictor is known, its misalignment is included. Random positions are drawn once for all
    windows of a text.
    """
    high = configs[0].train_length
    low = min_context(high, 0.5)
    needed: dict[Form, int] = {"last": high}
    if low < high:
        needed["overlap"] = 2 * high - low
    texts = draw_held_out(language, configs, 2 * high - low)
    predictors: dict[str, tuple[Model, DrawPositions | None]] = {"": (models, draw_positions)}
    if predict(language, texts[:, :1, :1]) is not None:  # if known for these tokens, then for all
        predictors["perfect_"] = (cast(Model, partial(predict, language)), None)
    values: list[Measured] = [{} for _ in configs]
    for prefix, (predictor, draw) in predictors.items():
        for form, length in needed.items():
            compared = texts[..., -length:]
            inputs = [compared] if draw is None else [compared, draw(compared)]
            windows = [stream(config.test_seed, "windows") for config in configs]
            found = measure_distances(predictor, inputs, low, high, windows, form=form)
            for distance, of_models in found._asdict().items():
                name = f"{prefix}{distance}{'' if form == 'last' else '_overlap'}"
                for measured, estimate in zip(values, map(Estimate.from_values, of_models), strict=True):
                    measured |= {name: estimate.value, f"{name}_error": estimate.error}
    return values


def score_facts(models: Answers, language: LanguageTask, configs: Configs) -> list[Measured]:
    """Return each model's top-1 accuracy and cross-entropy of the answer to each kind of question.

    Facts are at each of the depths in texts of each of the lengths. The values of ``recall`` are called ``accuracy``
    and ``answer_loss``; those of another kind have its name, without and with ``_loss``. Empty for languages without
    facts.
    """
    asked, values = configs[0].evaluation, [Measured() for _ in configs]
    for multiple, depth, (kind, shortest) in product(asked.lengths, asked.depths, language.kinds.items()):
        length = max(shortest, round(multiple * configs[0].train_length))
        streams = [stream(config.test_seed, "questions") for config in configs]
        drawn = [language.questions(asked.questions, length, depth, each, kind) for each in streams]
        questions = [each for each in drawn if each is not None]
        if not questions:
            return values
        tokens, answers = torch.stack([each.tokens for each in questions]), [each.answers for each in questions]
        tokens = tokens[..., -(asked.window or length) :]
        logits = torch.cat([models(rows, last=1)[:, :, -1] for rows in tokens.split(ROWS, 1)], 1).double().cpu()
        accuracy, loss = ("accuracy", "answer_loss") if kind == "recall" else (kind, f"{kind}_loss")
        for measured, each, answer in zip(values, logits, answers, strict=True):
            measured[f"{accuracy}@{length}@{depth:g}"] = (each.argmax(-1) == answer).double().mean().item()
            measured[f"{loss}@{length}@{depth:g}"] = F.cross_entropy(each, answer).item()
    return values


def predict(language: LanguageTask, texts: Int[Tensor, "M N T"]) -> Float[Tensor, "M N T V"] | None:
    """Return the Bayes-optimal log-probabilities of the next tokens of texts, if they are known."""
    truth = language.predict(texts.flatten(0, 1))
    return None if truth is None else truth.unflatten(0, texts.shape[:2])


def draw_held_out(
    language: LanguageTask, configs: Configs, length: int, purpose: str = "evaluation"
) -> Int[Tensor, "M N T"]:
    """Draw ``evaluation.sequences`` held-out texts for each model from the RNG stream ``purpose``: the test texts."""
    return torch.stack(
        [
            language.draw(config.evaluation.sequences, length, stream(config.test_seed, purpose), held_out=True)
            for config in configs
        ]
    )
