"""The interface of languages: windows of text and, where it is known, the Bayes-optimal predictor."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.sources import Sourced


class Questions(NamedTuple):
    """Texts that end with a question about a fact, and the answers."""

    tokens: Int[Tensor, "B L"]
    answers: Int[Tensor, " B"]


class LanguageTask(Sourced, ABC):
    """A stationary process of tokens 0 to ``vocabulary`` - 1."""

    vocabulary: int
    kinds: ClassVar[Mapping[str, int]] = {}  # the kinds of ``questions``, and the tokens of the shortest text for each

    @abstractmethod
    def draw(self, batch: int, length: int, generator: torch.Generator, held_out: bool = False) -> Int[Tensor, "B L"]:
        """Sample ``batch`` windows of ``length`` tokens, each from a random place of a text.

        So the distribution of tokens is the same at every position. ``held_out`` samples from the held-out part, if the
        text has one.
        """

    def predict(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"] | None:
        """Return the predictions of the Bayes-optimal predictor; None if it is unknown.

        These are exact log-probabilities (double, on the CPU) of the token after each position, given the tokens of the
        window up to there; -inf for tokens that cannot follow.
        """
        return None

    def questions(
        self, count: int, length: int, depth: float, generator: torch.Generator, kind: str = "recall"
    ) -> Questions | None:
        """Sample ``count`` texts of ``length`` tokens whose last token is a question, one of ``kinds``.

        The fact that answers it occurs once, at the fraction ``depth`` of the text: 0 is the first token, 1 the last
        place that leaves space for the tokens that must follow, at least the question. Returns None for languages
        without facts. Raises InputError for a depth outside 0 to 1, or a text too short.
        """
        return None

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text. Raises InputError for languages without a text form."""
        raise InputError("sequences: this language has no text form; give tokens, an integer tensor [N, T]")

    def decode(self, token: int) -> str:
        """Return a token as text, or its number for languages without a text form."""
        return str(token)

    def complete_arguments(self) -> dict[str, Any]:
        """Return values for arguments that the config leaves open, so that a config always gives the same texts."""
        return {}
