"""The interface of sequence tasks.

There are tasks with a prompt and an answer (``answers.AnswerTask``), and formal languages, where the model predicts
after each symbol which may follow (``formal_languages.FormalLanguage``).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.sources import Sourced

SPECIAL = ("<begin>", "<separator>", "<end>")  # special tokens, numbered after the symbols
MULTIPLE = 4  # the vocabulary's size is a multiple of this, so that the numbers of an ensemble fill vectors of four


class Batch(NamedTuple):
    """Examples as model inputs: B examples, T tokens, right-padded; stacked for an ensemble, [E, B, ...]."""

    tokens: Int[Tensor, "*E B T"]  # begin, prompt, separator, answer; or begin and the symbols of a string
    sizes: Int[Tensor, "*E B"]  # the number of tokens of each row, without padding
    # The next token; in a formal language, the set of next tokens.
    targets: Int[Tensor, "*E B T"] | Bool[Tensor, "*E B T V"]
    scored: Bool[Tensor, "*E B T"]


class SequenceTask(Sourced, ABC):
    """A sequence task. The constructor's keyword arguments are the keys of the config group ``task``.

    Attributes:
        symbols: The task's own symbols as text; token t is ``symbols[t]``. Begin, separator and end follow.
        source: The publication that the task follows.
        departs: How it differs from the publication; empty if it does not.
        shortest: The smallest length.
        longest: The greatest length.
    """

    symbols: Sequence[str]
    source: ClassVar[str]
    departs: ClassVar[str] = ""
    shortest: int = 1
    longest: float = math.inf

    @property
    def begin(self) -> int:
        """The token that each row begins with."""
        return len(self.symbols)

    @property
    def separator(self) -> int:
        """The token between prompt and answer."""
        return len(self.symbols) + 1

    @property
    def end(self) -> int:
        """The token after the answer, or after a string of a language."""
        return len(self.symbols) + 2

    @property
    def vocabulary(self) -> int:
        """The number of tokens, rounded up to a multiple of four; those beyond ``end`` never occur."""
        return -(-(len(self.symbols) + len(SPECIAL)) // MULTIPLE) * MULTIPLE

    def written(self, token: int) -> str:
        """Return a token as text."""
        names = (*self.symbols, *SPECIAL)
        return names[token] if token < len(names) else "<unused>"

    def has(self, length: int) -> bool:
        """Return True if there are examples of this length."""
        return self.shortest <= length <= self.longest

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths of the task from ``low`` to ``high``."""
        return [length for length in range(low, high + 1) if self.has(length)]

    @abstractmethod
    def width(self, length: int) -> int:
        """Return the most input tokens of an example up to this length."""

    @abstractmethod
    def batch(self, lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Batch:
        """Draw an example of each of ``lengths``, in rows of ``width`` tokens."""

    @abstractmethod
    def losses(self, logits: Float[Tensor, "*E B T V"], batch: Batch) -> Float[Tensor, "*E B T"]:
        """Return the loss at each token, in nats, whether or not it is scored."""

    @abstractmethod
    def right(self, logits: Float[Tensor, "B T V"], batch: Batch) -> Bool[Tensor, "B T"]:
        """Return True where the model's prediction at a token is right."""

    @abstractmethod
    def predict_distribution(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T V"]:
        """Return the model's prediction at each token, as a distribution over the vocabulary."""

    @abstractmethod
    def target_distribution(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Return the target at each token, as a distribution over the vocabulary."""

    @abstractmethod
    def chance(self, length: int) -> float:
        """Return the exact match, at this length, of the best answer that ignores the prompt."""


def is_fully_right(right: Bool[Tensor, "B T"], scored: Bool[Tensor, "B T"]) -> Bool[Tensor, " B"]:
    """Return True for each row that is right wherever it is scored."""
    return (right | ~scored).all(1)


def count_right(right: Bool[Tensor, "B T"], scored: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """Count each row's scored tokens that are right."""
    return (right & scored).sum(1).double()


def places(lengths: Int[Tensor, " B"], width: int) -> Bool[Tensor, "B W"]:
    """Return True at the first ``lengths`` of ``width`` columns."""
    return torch.arange(width) < lengths[:, None]


def ranks(lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Int[Tensor, "B W"]:
    """Draw a random permutation of 0, ..., n - 1 in the first n = ``lengths`` columns; larger numbers follow."""
    keys = torch.rand(len(lengths), width, generator=generator, dtype=torch.float64)
    return keys.masked_fill(~places(lengths, width), math.inf).argsort(1).argsort(1)


def integers(high: Int[Tensor, "..."], generator: torch.Generator) -> Int[Tensor, "..."]:
    """Draw integers, each uniform on 0, ..., ``high`` - 1."""
    drawn = (torch.rand(high.shape, generator=generator, dtype=torch.float64) * high).long()
    return torch.minimum(drawn, high - 1)  # rounding may lift the product to ``high``


def check_bounds(name: str, value: int, low: int, high: int) -> int:
    """Return ``value``. Raises InputError unless it lies from ``low`` to ``high``."""
    if not low <= value <= high:
        raise InputError(f"task.{name}={value}: must be {low} to {high}")
    return value
