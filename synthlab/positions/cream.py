"""CREAM's positions: a head, a distant tail, and a middle that lies mostly halfway between them.

Wu, Zhao and Zheng, 2024 (arXiv 2406.07138, section 3), and the authors' code, whose behaviors are options here.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Int
from pydantic import PositiveFloat
from torch import Tensor

from synthlab.positions.sampler_base import Multiple, Stretched, Window, uniform
from synthlab.runs.run import Tokens


class Cream(Stretched):
    """A window of N tokens as head, middle and tail of a text of s N tokens, where s is ``factor``.

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

    Example:
        >>> import torch
        >>> from synthlab.positions.cream import Cream
        >>> cream = Cream(factor=4, sigma=3.0, continuity=4, shared=1, limits="clamped", text=None)
        >>> drawn = cream.positions(1, 64, torch.Generator().manual_seed(0))[0]
        >>> drawn[:16].tolist() == list(range(16)), drawn[-16:].tolist() == list(range(240, 256))
        (True, True)
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
        super().__init__(factor)
        self.sigma, self.continuity, self.shared, self.limits, self.text = sigma, continuity, shared, limits, text
        # Choices between relativity and continuity that are left over for windows of later calls.
        self.pending: Bool[Tensor, " left"] = torch.zeros(0, dtype=torch.bool)

    def positions(self, rows, length, generator):
        return self.window(rows, length, generator).positions

    def text_length(self, length):
        return None if self.text is None else self.text * length

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
