"""Exact match and accuracy per token at every length, by one teacher-forced pass.

A greedy decoder gives the right answer exactly if all tokens are right here: up to its first wrong token, both have the
same inputs.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.models.layers import Members
from synthlab.positions.samplers import PositionSampler
from synthlab.rng import stream
from synthlab.runs.sources import is_user_class
from synthlab.sequences.positions import POSITIONS, find_positions
from synthlab.sequences.run import METRICS, SequencesRun, horizon_of
from synthlab.sequences.task import Batch, SequenceTask
from synthlab.sequences.tasks import TASKS

Z = 1.959963984540054  # quantile of the standard normal distribution, two-sided 95 %
ENTRIES = 2**20  # attention logits of a head in one pass, to limit the memory of attention
# From tokens [M, B, T] of M models, and their positions unless these are 0, 1, 2, ..., to the logits [M, B, T, V].
Models = Callable[[Tensor, Tensor | None], Tensor]


class Scores(NamedTuple):
    """Scores of M models on N sequences each."""

    exact: Float[Tensor, "M N"]  # 1 if the answer is right, else 0
    tokens: Float[Tensor, "M N"]  # the number of its tokens that are right
    asked: Float[Tensor, "M N"]  # the number of its tokens
    loss: Float[Tensor, "M N"]  # their mean loss
    predicted: Float[Tensor, "M N V"]  # the model's mean distribution at these tokens
    expected: Float[Tensor, "M N V"]  # the mean distribution of the right answer


class Outputs(NamedTuple):
    """Mean distributions over the vocabulary of V tokens at each of L lengths (Du et al., 2025, section 3).

    ``predicted`` is the mean of the model's predictions, ``expected`` that of the targets of the same sequences.
    """

    lengths: Sequence[int]
    predicted: Float[Tensor, "L V"]
    expected: Float[Tensor, "L V"]

    def shifts(self, first: int, last: int, config: SequencesRun) -> dict[str, float]:
        """Return the total variation distance of outputs at some lengths from those at trained lengths, 0 to 1.

        The lengths are ``first`` to ``last``, compared with the longest quarter of training lengths. ``shift`` is the
        distance of the predictions, ``target_shift`` that of the targets. NaN without such lengths.
        """
        trained = self._find_within(config.train_from or 1, config.train_length)
        here, there = self._find_within(first, last), trained[-math.ceil(len(trained) / 4) :]
        pairs = {"shift": self.predicted, "target_shift": self.expected}
        return {name: (rows[here].mean(0) - rows[there].mean(0)).abs().sum().item() / 2 for name, rows in pairs.items()}

    def _find_within(self, first: int, last: int) -> list[int]:
        return [index for index, length in enumerate(self.lengths) if first <= length <= last]


@torch.no_grad()
def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Sequence[SequencesRun]
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the ``METRICS`` at every length; and those of the training lengths and bins, with the horizon."""
    first, models = configs[0], Members(ensemble, indices)
    generators = [stream(each.test_seed, "evaluation_positions") for each in configs]
    # What the code of a user's task makes is on a CPU.
    device = "cpu" if is_user_class(first.task["name"]) else models.device
    settings = {"position_generators": generators, "device": device, "sampler": POSITIONS.build(first.positions)}
    score = partial(score_examples, models, encoding_of(ensemble), TASKS.build(first.tested_task), **settings)
    return [(metrics, by_bin(metrics, outputs, first)) for metrics, outputs in score_lengths(score, configs)]


def score_lengths(score: Callable[..., Scores], configs: Sequence[SequencesRun]) -> list[tuple[pd.DataFrame, Outputs]]:
    """Return each model's ``METRICS`` at every length of the task, and the distributions of its outputs.

    Lengths go up to ``test_length``. The sequences of a length are the same for every model of one seed, whatever its
    test length. ``score`` returns the scores on examples of some lengths, drawn by a generator for each model.
    """
    config, generators = configs[0], [stream(each.test_seed, "evaluation") for each in configs]
    task, count = TASKS.build(config.tested_task), config.evaluation.sequences
    lengths = task.lengths(1, config.test_length)
    measured, predicted, expected = [], [], []
    for length in lengths:
        scores = score(torch.full((count,), length), generators)
        tokens = scores.tokens.sum(1) / scores.asked.sum(1)
        measured.append(torch.stack((scores.exact.mean(1), tokens, scores.loss.mean(1)), 1))
        predicted.append(scores.predicted.mean(1))
        expected.append(scores.expected.mean(1))
    results = []
    for values, *both in zip(*(torch.stack(each, 1).cpu() for each in (measured, predicted, expected)), strict=True):
        outputs, rows = Outputs(lengths, *both), []
        for length, (exact, right, loss) in zip(lengths, values.tolist(), strict=True):
            others = {"chance": task.chance(length), **outputs.shifts(length, length, config)}
            rows.append({"length": length, **_row(exact, right, count, loss), **others})
        results.append((pd.DataFrame(rows, columns=["length", *METRICS]), outputs))
    return results


@torch.no_grad()
def score_examples(
    models: Models,
    encoding: Encoding,
    task: SequenceTask,
    lengths: Int[Tensor, " N"],
    generators: Sequence[torch.Generator],
    position_generators: Sequence[torch.Generator],
    device: torch.device | str = "cpu",
    sampler: PositionSampler | None = None,
) -> Scores:
    """Draw an example of each of ``lengths`` by the generator of each model, and score the models' predictions.

    Each of ``position_generators`` draws the random positions of a model with ``encoding``; ``sampler`` is that of
    training, which has positions for tests if the task gives them.
    """
    width = task.width(int(lengths.max()))
    drawn = [task.batch(lengths, width, generator) for generator in generators]
    examples = Batch(*(torch.stack(parts) for parts in zip(*drawn, strict=True)))
    rows, scores = max(1, ENTRIES // width**2), []
    for parts in zip(*(each.split(rows, 1) for each in examples), strict=True):
        batch = Batch(*parts)
        shape = batch.sizes.shape
        positions = find_positions(sampler, encoding, task, batch, position_generators)
        logits = models(batch.tokens.to(device), positions).flatten(0, 1)
        batch = Batch(*(part.to(device).flatten(0, 1) for part in batch))
        right, losses = task.right(logits, batch), task.losses(logits, batch).double()
        asked = batch.scored.double()
        predicted, expected = (
            torch.einsum("btv,bt->bv", each.double(), asked) / asked.sum(1, keepdim=True)
            for each in (task.predict_distribution(logits), task.target_distribution(batch))
        )
        loss = (losses * batch.scored).sum(1) / batch.scored.sum(1)
        exact, tokens = (right | ~batch.scored).all(1).double(), (right & batch.scored).sum(1).double()
        found = Scores(exact, tokens, asked.sum(1), loss, predicted, expected)
        scores.append([each.unflatten(0, shape) for each in found])
    return Scores(*(torch.cat(each, 1) for each in zip(*scores, strict=True)))


def measure_fit(ensemble: nn.Module, index: int, config: SequencesRun) -> float:
    """Return the exact match of the model ``index`` on ``stop.sequences`` examples of random training lengths.

    Each call uses the same examples.
    """
    task, generator = TASKS.build(config.task), stream(config.data_seed, "calibration")
    lengths = torch.tensor(task.lengths(config.train_from or task.shortest, config.train_length))
    drawn = lengths[torch.randint(len(lengths), (config.stop.sequences,), generator=generator)]
    models, encoding = Members(ensemble, [index]), encoding_of(ensemble)
    sampler = POSITIONS.build(config.positions)
    return score_examples(models, encoding, task, drawn, [generator], [generator], sampler=sampler).exact.mean().item()


def by_bin(metrics: pd.DataFrame, outputs: Outputs, config: SequencesRun) -> pd.DataFrame:
    """Return the ``METRICS`` of the training lengths, in the first row, and of each bin, and the ``horizon``.

    Each row has its ``first`` and ``last`` length and the number of ``sequences``; all lengths have equal weight. The
    horizon, counted from ``train_from`` on, is the same in all rows.
    """
    ranges = [[config.train_from, min(config.train_length, config.test_length)], *(config.bins or [])]
    rows = []
    for first, last in ranges:
        inside = metrics[metrics["length"].between(first, last)]
        if inside.empty:  # tests end before training lengths begin
            continue
        count, means = config.evaluation.sequences * len(inside), inside.mean()
        row = _row(means["exact"], means["tokens"], count, means["loss"])
        row |= {"chance": means["chance"], **outputs.shifts(first, last, config)}
        rows.append({"first": first, "last": last, "sequences": count, **row})
    table = pd.DataFrame(rows, columns=["first", "last", "sequences", *METRICS])
    return table.assign(horizon=horizon_of(config, metrics))


def _row(right: float, tokens: float, count: int, loss: float) -> dict[str, float]:
    # Rounding may lift a mean of ones above 1.
    row = {}
    for name, value in (("exact", right), ("tokens", tokens)):
        row[name], row[f"{name}_low"], row[f"{name}_high"] = wilson(min(value, 1.0), count)
    return {**row, "loss": loss}


def wilson(value: float, count: int) -> tuple[float, float, float]:
    """Return the mean ``value`` of ``count`` independent numbers between 0 and 1, and the ends of its 95 % interval.

    Source: Wilson, 1927, JASA 22. The interval is too wide rather than too narrow for numbers other than 0 and 1.

    Example:
        >>> from synthlab.sequences.evaluation import wilson
        >>> [round(number, 3) for number in wilson(1.0, 25)]  # 25 of 25 leave room for 87 %
        [1.0, 0.867, 1.0]
    """
    shrink = 1 + Z**2 / count
    centre = (value + Z**2 / (2 * count)) / shrink
    reach = Z / shrink * math.sqrt(value * (1 - value) / count + Z**2 / (4 * count**2))
    # For a mean of 0 or 1 one end is exact: remove its rounding error.
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return value, 0.0 if value == 0 else low, 1.0 if value == 1 else high
