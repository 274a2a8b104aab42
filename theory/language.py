"""Theorem 1 measured: linear attention trained on a small language, and what bounds its error on longer text.

The language is a hidden Markov chain of a few topics: topic t prefers token t, the others fall off by halves. The model
is that of equation 25, with one-hot tokens (norm 1, as the theorem asks); it is trained on every prefix, with the
squared distance to the next token's one-hot vector, by the bench's own loop. All terms of the theorem are taken over
the same test sequences and, exactly, over all window lengths, so that a violated bound is no accident of sampling.
"""

import math
from typing import Annotated, Any, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, Field, PositiveInt
from torch import Tensor, nn

from synthlab.config.base import Protocol
from synthlab.config.registry import STRICT, validated
from synthlab.errors import InputError
from synthlab.language.hidden_markov import HiddenMarkov
from synthlab.rng import stream
from synthlab.training.loop import train

Length = Annotated[int, Field(gt=0, le=20_000)]
ENTRIES = 10**8  # of one-hot tokens held at once


class Language(BaseModel):
    """The language and how its model is trained and tested; each field is described in ``conf/theory.yaml``."""

    model_config = STRICT
    vocabulary: Annotated[int, Field(gt=1, le=1000)]
    topics: Annotated[int, Field(gt=0, le=1000)]
    stay: Annotated[float, Field(ge=0, le=1)]
    width: Annotated[int, Field(gt=0, le=4096)]
    train_length: Annotated[int, Field(gt=1, le=20_000)]
    test_lengths: Annotated[list[Length], Field(min_length=1)]
    sequences: PositiveInt
    protocol: Protocol

    @classmethod
    def checked(cls, raw: Any) -> "Language":
        """The language that ``raw`` describes; raises InputError."""
        language = validated(cls, raw, "language")
        for length in language.test_lengths:
            if length <= language.train_length:
                raise InputError(
                    f"language.test_lengths={language.test_lengths}: must be more than "
                    f"language.train_length={language.train_length} each"
                )
        for name, rows in (("sequences", language.sequences), ("protocol.batch", language.protocol.batch)):
            if rows * max(language.test_lengths) * language.vocabulary > ENTRIES:
                raise InputError(
                    f"language.{name}={rows}: times the longest of test_lengths and vocabulary must be at most "
                    f"{ENTRIES}"
                )
        return language

    def draw(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "B L"]:
        """``batch`` texts of ``length`` tokens."""
        chain = HiddenMarkov(states=self.topics, vocabulary=self.vocabulary, stay=self.stay, falloff=0.5)
        return chain.draw(batch, length, generator)


class Attention(nn.Module):
    """Equation 25: g(x[:k]) = 1/k sum_i (x_k W^Q . x_i W^K) x_i W^V W, tokens one-hot."""

    def __init__(self, vocabulary: int, width: int, generator: torch.Generator):
        super().__init__()

        def weights(inputs: int, outputs: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(inputs, outputs, generator=generator) / math.sqrt(inputs))

        self.queries, self.keys, self.values = (weights(vocabulary, width) for _ in range(3))
        self.out = weights(width, vocabulary)

    def forward(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"]:
        """The output for every prefix."""
        vocabulary = len(self.queries)
        seen = nn.functional.one_hot(x, vocabulary).to(self.queries.dtype).cumsum(1)
        return self.respond(x, seen / torch.arange(1, x.shape[1] + 1)[:, None])

    def respond(self, last: Int[Tensor, "*B"], shares: Float[Tensor, "*B V"]) -> Float[Tensor, "*B V"]:
        """The output after ``last`` for windows in which each token has its share: windows enter (25) in no other
        way."""
        scores = self.queries @ self.keys.mT  # V V
        return (scores[last] * shares) @ (self.values @ self.out)

    def norms(self) -> tuple[float, float]:
        """What C0 is made of: the squared operator norm of W^Q W^K' W^V W, as printed, and the product of those of
        W^Q W^K' and W^V W."""
        scores, values = self.queries @ self.keys.mT, self.values @ self.out
        printed, first, second = (
            torch.linalg.matrix_norm(matrix, ord=2).square().item() for matrix in (scores @ values, scores, values)
        )
        return printed, first * second


def fit(language: Language, seed: int) -> Attention:
    """A model trained on all prefixes of windows of ``train_length``. Raises InputError if it diverges."""
    model = Attention(language.vocabulary, language.width, stream(seed, "initial"))
    generator = stream(seed, "training")

    def loss() -> Tensor:
        x = language.draw(language.protocol.batch, language.train_length + 1, generator)
        target = nn.functional.one_hot(x[:, 1:], language.vocabulary)
        return (model(x[:, :-1]) - target).square().sum(-1).mean()

    diverged_at = train(model.parameters(), loss, [language.protocol])[0].diverged_at
    if diverged_at is not None:
        raise InputError(
            f"language.protocol.lr={language.protocol.lr:g}: the model diverged at step {diverged_at}; give a "
            f"smaller one"
        )
    return model.double()


class Terms(NamedTuple):
    """Theorem 1 at one test length, measured."""

    length: int
    error: float
    misalign: float
    train: float
    rho: float
    c0_printed: float
    c0_corrected: float

    def row(self) -> dict[str, float]:
        """The terms with what they amount to: the bound as printed, as corrected, and one without misalignment."""
        square = self.rho**2
        printed = square * self.misalign + (square + 1) * self.train + (1 + self.c0_printed) * square
        corrected = 3 * (square * self.misalign + (square + 1) * self.train + (1 + self.c0_corrected) * square)
        sharper = (math.sqrt(self.train) + self.rho * math.sqrt(self.c0_corrected)) ** 2
        return self._asdict() | {
            "printed": printed,
            "corrected": corrected,
            "sharper": sharper,
            "ratio": square / (1 + square),
        }


@torch.no_grad()
def measure(language: Language, model: Attention, seed: int = 0) -> pd.DataFrame:
    """A row for each test length: error, misalignment and training loss with all windows of ``train_length``/2 and more
    (equations 27 and 29), and the bounds."""
    longest = max(language.test_lengths)
    x = language.draw(language.sequences, longest + 1, stream(seed, "evaluation"))
    last = x[:, -2]
    target = nn.functional.one_hot(x[:, -1], language.vocabulary).double()
    # Shares of tokens in the windows that end at the last token but one, for every length of window.
    counts = nn.functional.one_hot(x[:, :-1], language.vocabulary).double().flip(1).cumsum(1)

    def output(length: int) -> Tensor:
        return model.respond(last, counts[:, length - 1] / length)

    windows = range(-(-language.train_length // 2), language.train_length + 1)
    outputs = torch.stack([output(length) for length in windows])
    train_loss = (outputs - target).square().sum(-1).mean().item()
    # Over all pairs of windows: twice the variance around the mean output.
    misalign = 2 * (outputs - outputs.mean(0)).square().sum(-1).mean().item()
    printed, corrected = model.norms()
    return pd.DataFrame(
        Terms(
            length,
            (output(length) - target).square().sum(-1).mean().item(),
            misalign,
            train_loss,
            1 - language.train_length / (2 * length),
            printed,
            corrected,
        ).row()
        for length in language.test_lengths
    ).assign(train_length=language.train_length)


def bounds(language: Language, seeds: int) -> pd.DataFrame:
    """``measure`` of models from several seeds, one below the other."""
    return pd.concat([measure(language, fit(language, seed)).assign(seed=seed) for seed in range(seeds)])
