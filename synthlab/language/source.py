"""What the texts come from: a language, of which windows are drawn and, where it is known, the perfect predictor."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Questions(NamedTuple):
    """Texts whose last token asks for a fact, and the token that answers it."""

    tokens: Int[Tensor, "B L"]
    answers: Int[Tensor, " B"]


class Language(ABC):
    """A stationary text without beginning or end; ``vocabulary`` is the number of its tokens, 0 to vocabulary - 1."""

    vocabulary: int

    @abstractmethod
    def draw(self, batch: int, length: int, generator: torch.Generator, held_out: bool = False) -> Int[Tensor, "B L"]:
        """``batch`` windows of ``length`` tokens, each from a random place of a text: the distribution of tokens is the
        same at every position. ``held_out``: from the part kept for tests, where the text has parts."""

    def predict(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"] | None:
        """What the perfect predictor says: natural logarithms (double) of the probabilities of the token that follows
        each position, exact, given the tokens of the window up to there and nothing else. -inf for tokens that cannot
        follow, on the CPU. None where it cannot be known."""
        return None

    def questions(self, count: int, length: int, depth: float, generator: torch.Generator) -> Questions | None:
        """``count`` texts of ``length`` tokens (2 or more) whose last token asks for a fact that stands in them once,
        at the share ``depth`` of the text: at its first token for 0, just before the question for 1. None for languages
        without facts. Raises InputError for another length or depth."""
        return None

    def completed(self) -> dict[str, Any]:
        """Arguments that the config may leave open, as they turned out: with them it describes the same texts for
        good."""
        return {}
