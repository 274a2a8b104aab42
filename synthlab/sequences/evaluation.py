"""Exact match and accuracy per token at every length, by one teacher-forced pass.

A greedy decoder gives the right answer exactly if all tokens are right here: up to its first wrong token, both have the
same inputs.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.encodings.base import Encoding, encoding_of, stack_positions
from synthlab.models.layers import Members
from synthlab.rng import stream
from synthlab.sequences.construction import build_problem
from synthlab.sequences.run import METRICS, SequencesRun, horizon_of
from synthlab.sequences.task import Batch, SequenceTask, count_right, is_fully_right

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
    said: Float[Tensor, "M N V"]  # the model's mean distribution at these tokens
    wanted: Float[Tensor, "M N V"]  # the mean distribution of the right answer


class Outputs(NamedTuple):
    """Mean distributions over the vocabulary of V tokens at each of L lengths (Du et al., 2025, section 3).

    ``said`` is the mean of the model's predictions, ``wanted`` that of the targets of the same sequences.
    """

    lengths: Sequence[int]
    said: Float[Tensor, "L V"]
    wanted: Float[Tensor, "L V"]

    def shifts(self, first: int, last: int, config: SequencesRun) -> dict[str, float]:
        """Return the total variation distance of outputs at some lengths from those at trained lengths, 0 to 1.

        The lengths are ``first`` to ``last``, compared with the longest quarter of training lengths. ``shift`` is the
        distance of the predictions, ``target_shift`` that of the targets. NaN without such lengths.
        """
        trained = self._find_within(config.train_from or 1, config.train_length)
        here, there = self._find_within(first, last), trained[-math.ceil(len(trained) / 4) :]
        pairs = {"shift": self.said, "target_shift": self.wanted}
        return {name: (rows[here].mean(0) - rows[there].mean(0)).abs().sum().item() / 2 for name, rows in pairs.items()}

    def _find_within(self, first: int, last: int) -> list[int]:
        return [index for index, length in enumerate(self.lengths) if first <= length <= last]


class Scorer:
    """A scorer of models with ``encoding`` on examples of ``problem``.

    Each of ``places`` generates the random positions of a model.
    """

    def __init__(
        self,
        models: Models,
        encoding: Encoding,
        problem: SequenceTask,
        places: Sequence[torch.Generator],
        device: torch.device | str = "cpu",
    ):
        self.models, self.encoding, self.problem, self.places = models, encoding, problem, places
        self.device = device

    @torch.no_grad()
    def scores(self, lengths: Int[Tensor, " N"], generators: Sequence[torch.Generator]) -> Scores:
        """Draw an example of each of ``lengths`` by the generator of each model, and score the models' predictions."""
        width = self.problem.width(int(lengths.max()))
        drawn = [self.problem.batch(lengths, width, generator) for generator in generators]
        batch = Batch(*(torch.stack(parts) for parts in zip(*drawn, strict=True)))
        rows = max(1, ENTRIES // width**2)
        parts = [self._score(Batch(*part)) for part in zip(*(each.split(rows, 1) for each in batch), strict=True)]
        return Scores(*(torch.cat(each, 1) for each in zip(*parts, strict=True)))

    def _score(self, batch: Batch) -> Scores:
        models, rows, width = batch.tokens.shape
        positions = stack_positions(self.encoding, batch.sizes, width, self.places)
        batch = Batch(*(part.to(self.device) for part in batch))
        logits = self.models(batch.tokens, positions).flatten(0, 1)
        batch = Batch(*(part.flatten(0, 1) for part in batch))
        right, losses = self.problem.right(logits, batch), self.problem.losses(logits, batch).double()
        asked = batch.scored.double()
        said, wanted = (
            torch.einsum("btv,bt->bv", each.double(), asked) / asked.sum(1, keepdim=True)
            for each in (self.problem.predict_distribution(logits), self.problem.target_distribution(batch))
        )
        loss = (losses * batch.scored).sum(1) / batch.scored.sum(1)
        exact = is_fully_right(right, batch.scored).double()
        scores = Scores(exact, count_right(right, batch.scored), asked.sum(1), loss, said, wanted)
        return Scores(*(each.unflatten(0, (models, rows)) for each in scores))


def measure_fit(ensemble: nn.Module, index: int, config: SequencesRun) -> float:
    """Return the exact match of the model ``index`` on ``stop.sequences`` examples of random training lengths.

    Each call uses the same examples.
    """
    problem, generator = build_problem(config.task), stream(config.data_seed, "calibration")
    lengths = torch.tensor(problem.lengths(config.train_from or problem.shortest, config.train_length))
    drawn = lengths[torch.randint(len(lengths), (config.stop.sequences,), generator=generator)]
    scorer = Scorer(Members(ensemble, [index]), encoding_of(ensemble), problem, [generator])
    return scorer.scores(drawn, [generator]).exact.mean().item()


def score_lengths(scorer: Scorer, configs: Sequence[SequencesRun]) -> list[tuple[pd.DataFrame, Outputs]]:
    """Return each model's ``METRICS`` at every length of the task, and the distributions of its outputs.

    Lengths go up to ``test_length``. The sequences of a length are the same for every model of one seed, whatever its
    test length.
    """
    config, generators = configs[0], [stream(each.test_seed, "evaluation") for each in configs]
    count = config.evaluation.sequences
    lengths = scorer.problem.lengths(1, config.test_length)
    chances = [scorer.problem.chance(length) for length in lengths]
    measured, said, wanted = [], [], []
    for length in lengths:
        scores = scorer.scores(torch.full((count,), length), generators)
        tokens = scores.tokens.sum(1) / scores.asked.sum(1)
        measured.append(torch.stack((scores.exact.mean(1), tokens, scores.loss.mean(1)), 1))
        said.append(scores.said.mean(1))
        wanted.append(scores.wanted.mean(1))
    results = []
    for values, *both in zip(*(torch.stack(each, 1).cpu() for each in (measured, said, wanted)), strict=True):
        outputs, rows = Outputs(lengths, *both), []
        for length, chance, (exact, right, loss) in zip(lengths, chances, values.tolist(), strict=True):
            shifts = outputs.shifts(length, length, config)
            rows.append({"length": length, **_row(exact, right, count, loss), "chance": chance, **shifts})
        results.append((pd.DataFrame(rows, columns=["length", *METRICS]), outputs))
    return results


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
