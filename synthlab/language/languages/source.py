"""The interface of languages: windows of text and, where it is known, the Bayes-optimal predictor."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError


class Questions(NamedTuple):
    """Texts that end with a question about a fact, and the answers."""

    tokens: Int[Tensor, "B L"]
    answers: Int[Tensor, " B"]


class Language(ABC):
    """A stationary process of tokens 0 to ``vocabulary`` - 1."""

    vocabulary: int
    kinds: ClassVar[Mapping[str, int]] = {}  # of ``questions``, and the tokens of the shortest text that asks each

    @abstractmethod
    def draw(self, batch: int, length: int, generator: torch.Generator, held_out: bool = False) -> Int[Tensor, "B L"]:
        """Sample ``batch`` windows of ``length`` tokens, each from a random place of a text, so that the distribution
        of tokens is the same at every position. ``held_out``: from the held-out part, if the text has one."""

    def predict(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"] | None:
        """The Bayes-optimal predictor: exact log-probabilities (double, on the CPU) of the token after each position,
        given the tokens of the window up to there. -inf for tokens that cannot follow. None if it is unknown."""
        return None

    def questions(
        self, count: int, length: int, depth: float, generator: torch.Generator, kind: str = "recall"
    ) -> Questions | None:
        """Sample ``count`` texts of ``length`` tokens whose last token is a question, one of ``kinds``. The fact that
        answers it occurs once, at the fraction ``depth`` of the text: 0 is the first token, 1 the last that leaves room
        for what follows, the question at least. None for languages without facts. Raises InputError for a depth that
        is no fraction, or a text too short."""
        return None

    def encode(self, text: str) -> list[int]:
        """The tokens of a text in writing. Raises InputError for languages that are not written."""
        raise InputError("sequences: texts of this language are not written; give tokens, an integer tensor [N, T]")

    def decode(self, token: int) -> str:
        """A token in writing; its number for languages that are not written."""
        return str(token)

    def complete_arguments(self) -> dict[str, Any]:
        """Values for arguments that the config may leave open; with them, a config always describes the same texts."""
        return {}
