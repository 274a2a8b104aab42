"""The samplers of position ids, by name. Their interface is ``sampler_base.PositionSampler``.

N is the number of a window's tokens and s the ``factor`` by which texts will be longer.
"""

import torch

from synthlab.positions.cream import Cream
from synthlab.positions.sampler_base import Multiple, PositionSampler, Stretched, Window, draw_subsets, uniform
from synthlab.runs.registry import Registry


class Contiguous(PositionSampler):
    """Positions 0, 1, 2, ..., as in testing."""

    def positions(self, rows, length, generator):
        return torch.arange(length).expand(rows, length)


class Offset(Stretched):
    """Shifted positions: u, u + 1, ..., u + N - 1, with u uniform on 0, ..., (s-1) N.

    Source: Kiyono et al., 2021, arXiv 2109.05644, section 3. Encodings that depend on distances only, such as RoPE,
    give the same logits as without a sampler, up to rounding.

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import Offset
        >>> drawn = Offset(factor=4).positions(1, 8, torch.Generator().manual_seed(0))
        >>> drawn.diff().tolist()
        [[1, 1, 1, 1, 1, 1, 1]]
    """

    def positions(self, rows, length, generator):
        first = torch.zeros(rows, dtype=torch.long)
        return uniform(first, first + (self.factor - 1) * length, generator)[:, None] + torch.arange(length)


class RandPos(Stretched):
    """A sorted random subset of 0, ..., s N - 1, each equally likely.

    Source: Ruoss et al., 2023, arXiv 2305.16843, section 3.1 (L there is s N). ``encoding=randomized`` draws the same
    way, in tests too.

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import RandPos
        >>> RandPos(factor=1).positions(1, 3, torch.Generator()).tolist()
        [[0, 1, 2]]
    """

    def positions(self, rows, length, generator):
        return draw_subsets(torch.full((rows,), length), length, self.factor * length, generator)


class PoSE(Stretched):
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

    def __init__(self, factor: Multiple, text: Multiple | None):
        super().__init__(factor)
        self.text = text

    def positions(self, rows, length, generator):
        return self.window(rows, length, generator).positions

    def text_length(self, length):
        return None if self.text is None else self.text * length

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

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import ClexPositions
        >>> ClexPositions(factor=1).positions(2, 4, torch.Generator()).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
    """

    def positions(self, rows, length, generator):
        if length < 2:  # a single token is both the first and the last
            return torch.zeros(rows, length, dtype=torch.long)
        longest = int(torch.randint(1, self.factor + 1, (), generator=generator)) * length
        inner = 1 + draw_subsets(torch.tensor([length - 2]), length - 2, longest - 2, generator)
        return torch.cat([torch.tensor([[0]]), inner, torch.tensor([[longest - 1]])], 1).expand(rows, length)


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
