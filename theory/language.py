"""Theorem 1 measured: linear attention trained on a small language, its error on longer text, and the bounds on it.

The language is a hidden Markov model with a few topics as states: token t is the most probable one of topic t, and the
probabilities of the others fall off by halves. The model is that of equation 25, with one-hot tokens (norm 1, as the
theorem assumes). It is trained on every prefix, on the squared distance to the one-hot vector of the next token. All
terms of the theorem are averages over the same test sequences and, exactly, over all window lengths, so that sampling
cannot violate a bound.
"""

import copy
import json
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.language.languages.hidden_markov import HiddenMarkov
from synthlab.metrics import Measures, Metric
from synthlab.rng import stream
from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import Count, Length, Member, Protocol, Run, Seed
from synthlab.storage.records import Record
from synthlab.training.family import Family, one_by_one
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.trained import Prediction, TrainedModel

ENTRIES = 10**8  # the most entries of one-hot tokens in memory at once
# The columns of a run's record, for each test length.
MEASURES = Measures(
    {
        "error": Metric("squared error at the test length", "lower", "log", ".3g"),
        "misalign": Metric("L_misalign, over all pairs of windows (equation 27)", "lower", "log", ".3g"),
        "train": Metric("training loss, over all windows (equation 29)", "lower", "log", ".3g"),
        "rho": Metric("1 - l_train / (2 l_test)"),
        "c0_printed": Metric("C0 as printed", None, "log"),
        "c0_corrected": Metric("C0 with a product of norms", None, "log"),
        "printed": Metric("the bound as printed", None, "log", ".3g"),
        "corrected": Metric("the corrected bound", None, "log", ".3g"),
        "sharper": Metric("a bound without misalignment", None, "log", ".3g"),
        "ratio": Metric("C1 / C2", None, "log"),
    },
    primary="error",
    ranking=("error",),
)


class LanguageSettings(BaseModel):
    """The language, and how its model is trained and tested; ``conf/theory.yaml`` describes each field."""

    model_config = STRICT
    vocabulary: Annotated[int, Field(gt=1, le=1000)]
    topics: Annotated[int, Field(gt=0, le=1000)]
    stay: Annotated[float, Field(ge=0, le=1)]
    width: Annotated[int, Field(gt=0, le=4096)]
    train_length: Annotated[int, Field(gt=1, le=20_000)]
    test_lengths: Annotated[list[Length], Field(min_length=1)]
    sequences: Count
    protocol: Protocol

    @classmethod
    def from_raw(cls, raw: Any) -> "LanguageSettings":
        """Return the language that ``raw`` describes. Raises InputError."""
        language = validate(cls, raw, "language")
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
        """Draw ``batch`` texts of ``length`` tokens."""
        chain = HiddenMarkov(states=self.topics, vocabulary=self.vocabulary, stay=self.stay, falloff=0.5)
        return chain.draw(batch, length, generator)


class LinearAttention25(nn.Module):
    """Equation 25: g(x[:k]) = 1/k sum_i (x_k W^Q . x_i W^K) x_i W^V W, tokens one-hot."""

    def __init__(self, vocabulary: int, width: int, generator: torch.Generator):
        super().__init__()

        def weights(inputs: int, outputs: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(inputs, outputs, generator=generator) / math.sqrt(inputs))

        self.queries, self.keys, self.values = (weights(vocabulary, width) for _ in range(3))
        self.out = weights(width, vocabulary)

    def forward(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"]:
        """Return the output for every prefix."""
        vocabulary = len(self.queries)
        seen = nn.functional.one_hot(x, vocabulary).to(self.queries.dtype).cumsum(1)
        return self.respond(x, seen / torch.arange(1, x.shape[1] + 1)[:, None])

    def respond(self, last: Int[Tensor, "*B"], frequencies: Float[Tensor, "*B V"]) -> Float[Tensor, "*B V"]:
        """Return the output for windows with the last token ``last`` and the relative ``frequencies`` of tokens.

        Equation 25 depends on nothing else.
        """
        scores = self.queries @ self.keys.mT  # V V
        return (scores[last] * frequencies) @ (self.values @ self.out)

    def norms(self) -> tuple[float, float]:
        """Return C0 as printed, the squared operator norm of W^Q W^K' W^V W; and corrected.

        The corrected C0 is the product of the squared norms of W^Q W^K' and W^V W.
        """
        scores, values = self.queries @ self.keys.mT, self.values @ self.out
        printed, first, second = (
            torch.linalg.matrix_norm(matrix, ord=2).square().item() for matrix in (scores @ values, scores, values)
        )
        return printed, first * second


class BoundConfig(Run):
    """A run for theorem 1: a model of ``language`` under one seed."""

    results_version = 1
    MEASURES = MEASURES
    SEEDS, ORDER = ("seed",), ("family", "language", "model")
    default_task = answer = ""  # its language is no task
    family: Literal["theorem1"] = "theorem1"  # pyright: ignore[reportIncompatibleVariableOverride]  # see NumbersRun
    language: LanguageSettings
    task: Member = Field({"name": ""})  # at their defaults, these are no part of a run
    weight_seed: Seed = 0
    data_seed: Seed = 0
    test_seed: Seed = 0

    @classmethod
    def from_language(cls, language: LanguageSettings, seed: int) -> "BoundConfig":
        """Return the run of ``language`` under ``seed``."""
        lengths = {"train_length": language.train_length, "test_length": max(language.test_lengths)}
        named = {"model": {"name": "equation25"}, "encoding": {"name": "nope"}}
        shared = {"language": language.model_dump(), "protocol": language.protocol.model_dump()}
        return cls.from_raw(named | shared | lengths | {"seed": seed})

    @classmethod
    def load_family(cls) -> Family:
        return THEOREM1

    @property
    def shape(self) -> str:
        return json.dumps(self.model_dump(), sort_keys=True)  # unique to this run, since its model is no ensemble


class Terms(NamedTuple):
    """The terms of theorem 1 at one test length."""

    length: int
    error: float
    misalign: float
    train: float
    rho: float
    c0_printed: float
    c0_corrected: float

    def row(self) -> dict[str, float]:
        """Return the terms and the bounds: as printed, corrected, and without misalignment."""
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
def measure_lengths(language: LanguageSettings, model: LinearAttention25, seed: int = 0) -> pd.DataFrame:
    """Return a row for each test length: the terms over all windows from ``train_length``/2 on, and the bounds.

    The terms are error, misalignment and training loss (equations 27 and 29).
    """
    longest = max(language.test_lengths)
    x = language.draw(language.sequences, longest + 1, stream(seed, "evaluation"))
    last = x[:, -2]
    target = nn.functional.one_hot(x[:, -1], language.vocabulary).double()
    # Token counts of the windows that end at the last token but one, for every window length.
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
    )


def build_models(configs: Sequence[BoundConfig]) -> LinearAttention25:
    """Return the initialized model of one run."""
    (config,) = configs
    return LinearAttention25(config.language.vocabulary, config.language.width, stream(config.seed, "initial"))


def make_objective(model: nn.Module, configs: Sequence[BoundConfig], device: str = "cpu") -> Callable[[], Tensor]:
    """Return the objective: the squared distance to the next token's one-hot vector, over all prefixes.

    Each step draws new windows.
    """
    (config,) = configs
    language, generator = config.language, stream(config.seed, "training")

    def loss() -> Tensor:
        x = language.draw(language.protocol.batch, language.train_length + 1, generator)
        target = nn.functional.one_hot(x[:, 1:], language.vocabulary)
        return (model(x[:, :-1]) - target).square().sum(-1).mean()

    return loss


def train_models(
    model: nn.Module, configs: Sequence[BoundConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train the initialized model of one run, in place."""
    return train_ensemble(
        model.parameters(), make_objective(model, configs), [config.protocol for config in configs], observe
    )


def evaluate_model(model: nn.Module, index: int, config: BoundConfig) -> tuple[pd.DataFrame, None]:
    """Return the terms of theorem 1 and the bounds at each test length, in double precision."""
    return measure_lengths(config.language, cast(LinearAttention25, copy.deepcopy(model).double())), None


class TrainedAttention(TrainedModel):
    """A trained model of equation 25, whose prediction is its output for the next token's one-hot vector."""

    def limits(self):
        return cast(BoundConfig, self.record.config).language.vocabulary, math.inf

    def encode(self, text):
        raise InputError("sequences: the tokens of theorem 1 are numbers; give an integer tensor [N, T]")

    def respond(self, x, lengths):
        output = self.module(x)[torch.arange(len(x)), lengths - 1]
        return Prediction(output.double(), output)


THEOREM1 = Family(
    groups={},
    complete=lambda config: config,
    build_models=build_models,
    make_objective=make_objective,
    train_models=train_models,
    evaluate_models=one_by_one(evaluate_model),
    open_model=TrainedAttention,
)


def bounds(records: Sequence[Record]) -> pd.DataFrame:
    """Return the bounds of all runs in one table. Raises InputError for a run that diverged."""
    tables = []
    for record in records:
        config = cast(BoundConfig, record.config)
        if record.diverged_at is not None:
            raise InputError(
                f"language.protocol.lr={config.protocol.lr:g}: the model diverged at step {record.diverged_at}; give a "
                f"smaller one"
            )
        tables.append(record.metrics.assign(train_length=config.train_length, seed=config.seed))
    return pd.concat(tables)
