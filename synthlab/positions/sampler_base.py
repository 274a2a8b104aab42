"""The interface of samplers of position ids."""

from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from synthlab.runs.sources import Sourced

Multiple = Annotated[int, Field(ge=1, le=1000)]


class Window(NamedTuple):
    """Positions of windows' tokens, and where in the text the tokens are taken from.

    Attributes:
        positions: The position of each token, from 0 on, increasing along each window.
        places: The place of each token in its text, from 0 on; None if the windows are the texts.
    """

    positions: Int[Tensor, "rows length"]
    places: Int[Tensor, "rows length"] | None


class PositionSampler(Sourced, ABC):
    """A sampler gives the tokens of a training window positions that they would have in a longer text.

    It changes the positions of training only: tests, and training without a sampler, use 0, 1, 2, ... The constructor's
    keyword arguments are the keys of the config group ``positions``; their types are checked. A sampler whose draws
    depend on earlier ones serves one model: each model of an ensemble has its own.

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import Contiguous
        >>> Contiguous().positions(2, 4, torch.Generator()).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
    """

    @abstractmethod
    def positions(self, rows: int, length: int, generator: torch.Generator) -> Int[Tensor, "rows length"]:
        """Return the positions of windows' tokens, increasing along each window.

        Args:
            rows: The number of windows.
            length: The number of tokens of each.
            generator: The source of random numbers.

        Returns:
            The position of each token, from 0 on.
        """

    def reach(self, length: int) -> int:
        """Return the largest position that windows of ``length`` tokens can get, plus one."""
        return length

    def text_length(self, length: int) -> int | None:
        """Return the number of tokens of the text that a window of ``length`` tokens is gathered from.

        None means that a window's tokens are consecutive in their text.
        """
        return None

    def window(self, rows: int, length: int, generator: torch.Generator) -> Window:
        """Return the positions of windows' tokens, and the places of the tokens in their texts.

        Positions are those of ``positions``; texts have ``text_length(length)`` tokens.
        """
        return Window(self.positions(rows, length, generator), None)


class Stretched(PositionSampler):
    """A sampler whose positions are below ``factor`` times the number of a window's tokens."""

    def __init__(self, factor: Multiple):
        self.factor = factor

    def reach(self, length):
        return self.factor * length


def uniform(low: Int[Tensor, " rows"], high: Int[Tensor, " rows"], generator: torch.Generator) -> Int[Tensor, " rows"]:
    """Sample integers, uniform from ``low`` to ``high``, both included."""
    share = torch.rand(len(low), generator=generator, dtype=torch.float64)
    return low + (share * (high - low + 1)).long()


def draw_subsets(
    sizes: Int[Tensor, " rows"],
    count: int,
    span: int,
    generator: torch.Generator,
    precision: torch.dtype = torch.float64,
) -> Int[Tensor, "rows count"]:
    """Draw sorted subsets of 0, ..., ``span`` - 1, each equally likely: randomized positions.

    Args:
        sizes: The number of elements of each subset.
        count: The number of elements of a row; a smaller subset is padded with its largest element.
        span: The number of elements to draw from.
        generator: The source of random numbers.
        precision: The type of the random numbers; another type gives other subsets.

    Returns:
        The subsets.
    """
    order = torch.rand(len(sizes), span, generator=generator, dtype=precision).argsort(1)[:, :count]
    within = torch.arange(count) < sizes[:, None]
    elements = order.masked_fill(~within, span).sort(1).values
    return elements.masked_fill(~within, 0).cummax(1).values
