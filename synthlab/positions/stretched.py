"""Positions of a text that is a whole number of times longer, drawn anew for each window: those of CLEX."""

from typing import Annotated

import torch
from pydantic import Field

from synthlab.positions.sampler_base import PositionSampler


class Stretched(PositionSampler):
    """A sorted random subset of the positions of a text t times as long, first and last included, where t is uniform on
    1, 2, .., ``factor`` (Chen et al., 2024, arXiv 2310.16450, section 3.3, and their code).

    Each window has a t of its own; the release draws one for a whole batch.

    Example:
        >>> import torch
        >>> from synthlab.positions.stretched import Stretched
        >>> sampled = Stretched(factor=4).positions(100, 8, torch.Generator().manual_seed(0))
        >>> sorted(set(sampled[:, -1].tolist()))  # 8 t - 1
        [7, 15, 23, 31]
    """

    def __init__(self, *, factor: Annotated[int, Field(ge=1, le=1024)]):
        self.factor = factor

    def positions(self, rows, length, generator):
        stretch = torch.randint(1, self.factor + 1, (rows, 1), generator=generator)
        keys = torch.rand(rows, length * self.factor, generator=generator)
        place, last = torch.arange(length * self.factor), length * stretch - 1
        keys = keys.masked_fill(place > last, 2.0).masked_fill((place == 0) | (place == last), -1.0)
        return keys.argsort(1)[:, :length].sort(1).values

    def reach(self, length):
        return self.factor * length
