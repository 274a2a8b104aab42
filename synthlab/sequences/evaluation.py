"""Exact match and accuracy per token at every length, by one teacher-forced pass.

A greedy decoder gives the right answer exactly if all tokens are right here: up to its first wrong token, both have the
same inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.sequences.config import METRICS, SequencesConfig, horizon_of
from synthlab.sequences.construction import build_problem
from synthlab.sequences.outputs import Outputs
from synthlab.sequences.problem import Batch, Problem, count_right, is_fully_right
from synthlab.sequences.proportions import wilson

ENTRIES = 2**20  # attention logits of a head in one pass, to limit the memory of attention
# From tokens [B, T], and their positions unless these are 0, 1, 2, ..., to logits [B, T, V].
Model = Callable[[Tensor, Tensor | None], Tensor]


class Scores(NamedTuple):
    """Scores of N sequences."""

    exact: Float[Tensor, " N"]  # 1 if the answer is right, else 0
    tokens: Float[Tensor, " N"]  # the number of its tokens that are right
    asked: Float[Tensor, " N"]  # the number of its tokens
    loss: Float[Tensor, " N"]  # their mean loss
    said: Float[Tensor, "N V"]  # the model's mean distribution at these tokens
    wanted: Float[Tensor, "N V"]  # the mean distribution of the right answer


class Scorer:
    """A scorer of a model with ``encoding`` on examples of ``problem``; ``places`` generates random positions."""

    def __init__(self, model: Model, encoding: Encoding, problem: Problem, places: torch.Generator):
        self.model, self.encoding, self.problem, self.places = model, encoding, problem, places

    @torch.no_grad()
    def scores(self, lengths: Int[Tensor, " N"], generator: torch.Generator) -> Scores:
        """Draw an example of each of ``lengths``, and score the model's predictions."""
        width = self.problem.width(int(lengths.max()))
        batch = self.problem.batch(lengths, width, generator)
        rows = max(1, ENTRIES // width**2)
        parts = [self._score(Batch(*part)) for part in zip(*(each.split(rows) for each in batch), strict=True)]
        return Scores(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def _score(self, batch: Batch) -> Scores:
        positions = self.encoding.positions(batch.sizes, batch.tokens.shape[1], self.places)
        logits = self.model(batch.tokens, positions)
        right, losses = self.problem.right(logits, batch), self.problem.losses(logits, batch).double()
        asked = batch.scored.double()
        said, wanted = (
            torch.einsum("btv,bt->bv", each.double(), asked) / asked.sum(1, keepdim=True)
            for each in (self.problem.predict_distribution(logits), self.problem.target_distribution(batch))
        )
        loss = (losses * batch.scored).sum(1) / batch.scored.sum(1)
        exact = is_fully_right(right, batch.scored).double()
        return Scores(exact, count_right(right, batch.scored), asked.sum(1), loss, said, wanted)


def measure_fit(ensemble: nn.Module, index: int, config: SequencesConfig) -> float:
    """Return the exact match of the model ``index`` on ``stop.sequences`` examples of random training lengths.

    Each call uses the same examples.
    """
    problem, generator = build_problem(config.task), stream(config.data_seed, "calibration")
    lengths = torch.tensor(problem.lengths(config.train_from or problem.shortest, config.train_length))
    drawn = lengths[torch.randint(len(lengths), (config.stop.sequences,), generator=generator)]
    scorer = Scorer(Member(ensemble, index), encoding_of(ensemble), problem, generator)
    return scorer.scores(drawn, generator).exact.mean().item()


def score_lengths(scorer: Scorer, config: SequencesConfig) -> tuple[pd.DataFrame, Outputs]:
    """Return the ``METRICS`` at every length of the task up to ``test_length``, and the distributions of outputs.

    The sequences of a length are the same for every model of one seed, whatever its test length.
    """
    generator, rows, count = stream(config.test_seed, "evaluation"), [], config.evaluation.sequences
    lengths, said, wanted = scorer.problem.lengths(1, config.test_length), [], []
    for length in lengths:
        scores = scorer.scores(torch.full((count,), length), generator)
        tokens = (scores.tokens.sum() / scores.asked.sum()).item()
        values = (scores.exact.mean().item(), tokens, count, scores.loss.mean().item())
        rows.append({"length": length, **_row(*values), "chance": scorer.problem.chance(length)})
        said.append(scores.said.mean(0))
        wanted.append(scores.wanted.mean(0))
    outputs = Outputs(lengths, torch.stack(said), torch.stack(wanted))
    for row in rows:
        row.update(outputs.shifts(row["length"], row["length"], config))
    return pd.DataFrame(rows, columns=["length", *METRICS]), outputs


def by_bin(metrics: pd.DataFrame, outputs: Outputs, config: SequencesConfig) -> pd.DataFrame:
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
