"""Input distributions over binary sequences.

All are exchangeable, so that a prefix of a sample is a sample at the shorter length. The packed layout relies on this
(see ``models.packing``).
"""

from abc import ABC, abstractmethod
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.runs.registry import Registry
from synthlab.runs.sources import Sourced


class InputDistribution(Sourced, ABC):
    """A distribution over binary sequences, such that a prefix of a sample is a sample at the shorter length.

    The constructor's keyword arguments are the keys of the config group ``inputs``.

    Example:
        >>> import torch, synthlab
        >>> class AllOrNothing(synthlab.InputDistribution):
        ...     "Only zeros or only ones, each half of the time."
        ...     def probability(self, batch, generator):
        ...         return torch.randint(2, (batch, 1), generator=generator).float()
        >>> x = AllOrNothing().draw(4, 6, torch.Generator().manual_seed(0))
        >>> tuple(x.shape), bool((x == x[:, :1]).all())
        ((4, 6), True)
    """

    def draw(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "B L"]:
        """Sample ``batch`` sequences of ``length`` symbols, each 0 or 1, with the randomness of ``generator``."""
        uniform = torch.rand(batch, length, generator=generator)
        return (uniform < self.probability(batch, generator)).long()

    @abstractmethod
    def probability(self, batch: int, generator: torch.Generator) -> Float[Tensor, "#B 1"] | float:
        """Return the probability of a 1: one number, or one for each of ``batch`` sequences.

        Random probabilities are drawn with ``generator``.
        """


class Bernoulli(InputDistribution):
    """Each symbol is 1 with probability ``p``, independently (paper, section 3: p = 1/2)."""

    def __init__(self, p: Annotated[float, Field(ge=0, le=1)]):
        self.p = p

    def probability(self, batch: int, generator: torch.Generator) -> float:
        return self.p


class UniformCount(InputDistribution):
    """The number of ones is uniform on 0..l, their arrangement random (paper, appendix F).

    Drawn as p ~ U(0, 1) and then Bernoulli(p), so every prefix of length k has a uniform count on 0..k.
    """

    def probability(self, batch: int, generator: torch.Generator) -> Float[Tensor, "B 1"]:
        return torch.rand(batch, 1, generator=generator)


INPUTS = Registry("inputs", InputDistribution, {"bernoulli": Bernoulli, "uniform_count": UniformCount})
