"""Samplers of position ids, and their interface: they give short training windows the positions of longer texts.

N is the number of a window's tokens and s the ``factor`` by which texts will be longer.
"""

from abc import ABC, abstractmethod
from typing import Annotated, Literal, NamedTuple

import torch
from jaxtyping import Bool, Int
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.runs.registry import Registry
from synthlab.runs.run import Tokens
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


class Gathered(Stretched):
    """A sampler of windows that may be gathered from a text of ``text`` windows; None: the windows are the texts."""

    def __init__(self, factor: Multiple, text: Multiple | None):
        super().__init__(factor)
        self.text = text

    def positions(self, rows, length, generator):
        return self.window(rows, length, generator).positions

    def text_length(self, length):
        return None if self.text is None else self.text * length

    @abstractmethod
    def window(self, rows: int, length: int, generator: torch.Generator) -> Window: ...


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


class Contiguous(PositionSampler):
    """Positions 0, 1, 2, ..., as in testing."""

    def positions(self, rows, length, generator):
        return torch.arange(length).expand(rows, length)


class Offset(Stretched):
    """Shifted positions: u, u + 1, ..., u + N - 1, with u uniform on 0, ..., (s-1) N.

    Source: Kiyono et al., 2021, arXiv 2109.05644, section 3. Encodings that depend on distances only, such as RoPE,
    give the same logits as without a sampler, up to rounding.
    """

    def positions(self, rows, length, generator):
        first = torch.zeros(rows, dtype=torch.long)
        return uniform(first, first + (self.factor - 1) * length, generator)[:, None] + torch.arange(length)


class RandPos(Stretched):
    """A sorted random subset of 0, ..., s N - 1, each equally likely.

    Source: Ruoss et al., 2023, arXiv 2305.16843, section 3.1 (L there is s N). ``encoding=randomized`` draws the same
    way, in tests too.
    """

    def positions(self, rows, length, generator):
        return draw_subsets(torch.full((rows,), length), length, self.factor * length, generator)


class PoSE(Gathered):
    """Two chunks of a window, the second at later positions.

    Source: Zhu et al., 2023, arXiv 2309.10400, section 3, and the authors' code.

    The first chunk has r tokens, r uniform on 1, ..., (N+1)//2, at positions 0, ..., r-1. The others are at r + u, ...,
    N - 1 + u, with u uniform on 0, ..., (s-1) N.

    Args:
        factor: s.
        text: The length, in windows, of the text from which the second chunk takes its N - r consecutive tokens. They
            start anywhere after the first chunk, as in the authors' code (there ``text`` is 5). None: they follow the
            first chunk directly.

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import PoSE
        >>> drawn = PoSE(factor=4, text=None).positions(1, 8, torch.Generator().manual_seed(0))
        >>> bool((drawn.diff() == 1).sum() >= 6)
        True
    """

    def window(self, rows, length, generator):
        places, zero = torch.arange(length), torch.zeros(rows, dtype=torch.long)
        split = uniform(zero + 1, zero + (length + 1) // 2, generator)
        skip = uniform(zero, zero + (self.factor - 1) * length, generator)
        second = places >= split[:, None]
        positions = places + skip[:, None] * second
        if self.text is None:
            return Window(positions, None)
        left_out = uniform(zero, zero + (self.text - 1) * length, generator)
        return Window(positions, places + left_out[:, None] * second)


class ClexPositions(Stretched):
    """The positions of CLEX's training (Chen et al., 2023, arXiv 2310.16450, section 3.3, and the authors' code).

    t is uniform on 1, ..., s. The first position is 0, the last t N - 1, and those between are a sorted random subset
    of 1, ..., t N - 2. All windows of a call have the same positions, as a batch has in the authors' code. For windows
    longer than the pre-training context, that code divides positions by the ratio of the two lengths. Here positions
    stay integers, so the largest position grows by that ratio instead.
    """

    def positions(self, rows, length, generator):
        if length < 2:  # a single token is both the first and the last
            return torch.zeros(rows, length, dtype=torch.long)
        longest = int(torch.randint(1, self.factor + 1, (), generator=generator)) * length
        inner = 1 + draw_subsets(torch.tensor([length - 2]), length - 2, longest - 2, generator)
        return torch.cat([torch.tensor([[0]]), inner, torch.tensor([[longest - 1]])], 1).expand(rows, length)


class Cream(Gathered):
    """A window of N tokens as head, middle and tail of a text of s N tokens, where s is ``factor``.

    Source: Wu, Zhao and Zheng, 2024, arXiv 2406.07138, section 3, and the authors' code, whose behaviors are options.

    Head and tail have h tokens each: N // 3 (relativity) or c s (continuity, c of ``continuity``), each with
    probability 1/2. The head is at 0, ..., h-1, the tail at s N - h, ..., s N - 1. The middle has m = N - 2 h tokens at
    e - m + 1, ..., e. Here e is uniform on the integers from h + alpha (m-1), rounded down, to alpha N, rounded down,
    less h + 1; alpha = f/2; and f is a normal variable of mean 1 + s and standard deviation ``sigma`` that is limited
    to [2, 2 s] and rounded down.

    Args:
        factor: s.
        sigma: The standard deviation of the normal variable.
        continuity: c. Windows shorter than 3 c s tokens have h = N // 3 in either case.
        shared: The number of consecutive windows that share one choice between relativity and continuity; 3000 in the
            authors' code.
        limits: ``clamped``: values outside the limits become the nearer limit, as in the authors' code, so the ends are
            more frequent; ``renormalized``: the truncated normal distribution of the paper.
        text: The length, in windows, of the text that tokens are gathered from, as in the authors' code: head and tail
            are the first and last tokens of the text, the middle is at places e - m + 1, ..., e, or just before the
            tail if the text is too short for e. Where e falls into the tail, tokens occur twice. None: the window is
            contiguous text.
    """

    def __init__(
        self,
        factor: Multiple,
        sigma: PositiveFloat,
        continuity: Tokens,
        shared: Tokens,
        limits: Literal["clamped", "renormalized"],
        text: Multiple | None,
    ):
        super().__init__(factor, text)
        self.sigma, self.continuity, self.shared, self.limits = sigma, continuity, shared, limits
        # Choices between relativity and continuity that are left over for windows of later calls.
        self.pending: Bool[Tensor, " left"] = torch.zeros(0, dtype=torch.bool)

    def window(self, rows, length, generator):
        short = min(self.continuity * self.factor, length // 3)
        head = torch.where(self._relativity(rows, generator), length // 3, short)
        doubled = self._draw_doubled_alpha(rows, generator)
        low = head + doubled * (length - 2 * head - 1) // 2
        end = uniform(low, doubled * length // 2 - head - 1, generator)
        positions = _spread(head, end, length, self.factor * length)
        if self.text is None:
            return Window(positions, None)
        text = self.text * length
        return Window(positions, _spread(head, end.where(end < text, text - head - 1), length, text))

    def _relativity(self, rows: int, generator: torch.Generator) -> Bool[Tensor, " rows"]:
        missing = max(0, rows - len(self.pending))
        drawn = torch.randint(2, (-(-missing // self.shared),), generator=generator).bool()
        found = torch.cat([self.pending, drawn.repeat_interleave(self.shared)])
        self.pending = found[rows:]
        return found[:rows]

    def _draw_doubled_alpha(self, rows: int, generator: torch.Generator) -> Int[Tensor, " rows"]:
        """Return f = 2 alpha, by the inverse of the normal distribution function."""
        low, high = 2, 2 * self.factor
        share = torch.rand(rows, generator=generator, dtype=torch.float64)
        if self.limits == "renormalized":
            ends = torch.tensor([low, high], dtype=torch.float64)
            below = torch.special.ndtr((ends - 1 - self.factor) / self.sigma)
            share = below[0] + share * (below[1] - below[0])
        return (1 + self.factor + self.sigma * torch.special.ndtri(share)).clamp(low, high).long()


def _spread(
    head: Int[Tensor, " rows"], end: Int[Tensor, " rows"], length: int, whole: int
) -> Int[Tensor, "rows length"]:
    """Return the head, the middle that ends at ``end``, and a tail that is as long as the head, of ``whole`` places."""
    places, head = torch.arange(length), head[:, None]
    middle = places + end[:, None] - (length - head - 1)
    return torch.where(places < head, places, torch.where(places < length - head, middle, places + whole - length))


SAMPLERS = Registry(
    "positions",
    PositionSampler,
    {
        "clex": ClexPositions,
        "contiguous": Contiguous,
        "cream": Cream,
        "offset": Offset,
        "pose": PoSE,
        "randpos": RandPos,
    },
)
