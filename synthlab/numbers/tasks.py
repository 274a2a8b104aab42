"""Number tasks, real-valued targets for every prefix of a binary sequence; and distributions of these sequences.

All distributions are exchangeable, so that a prefix of a sample is a sample at the shorter length. The packed layout
relies on this (see ``models.packing``).
"""

from abc import ABC, abstractmethod
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.rng import Twisters, rand
from synthlab.runs.registry import Registry
from synthlab.runs.sources import Sourced


class NumberTask(Sourced, ABC):
    """A real-valued target for every prefix of a binary sequence.

    The constructor's keyword arguments are the keys of the config group ``task``.

    Example:
        >>> import torch, synthlab
        >>> class Zeros(synthlab.NumberTask):
        ...     "The number of zeros."
        ...     def targets(self, x):
        ...         return (1.0 - x).cumsum(1)
        ...     def span(self, length):
        ...         return 0.0, float(length)
        >>> Zeros().targets(torch.tensor([[0, 1, 1, 0]])).tolist()
        [[1.0, 1.0, 1.0, 2.0]]
    """

    @abstractmethod
    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        """Return the target of each prefix, in the original scale, for B sequences of L symbols, each 0 or 1.

        Column k - 1 has the targets of ``x[:, :k]``.
        """

    @abstractmethod
    def span(self, length: int) -> tuple[float, float]:
        """Return the smallest and the largest target over all sequences of 1 to ``length`` symbols, both finite."""


def _lengths(x: Tensor) -> Tensor:
    return torch.arange(1, x.shape[1] + 1, device=x.device, dtype=torch.get_default_dtype())


class Mean(NumberTask):
    """The fraction of ones (paper, section 3)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return x.cumsum(1) / _lengths(x)

    def span(self, length: int) -> tuple[float, float]:
        return 0.0, 1.0


class Length(NumberTask):
    """The number of symbols (paper, section 3)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return _lengths(x).expand(x.shape)

    def span(self, length: int) -> tuple[float, float]:
        return 1.0, float(length)


class Sum(NumberTask):
    """The number of ones (paper, appendix C)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return x.cumsum(1).to(torch.get_default_dtype())

    def span(self, length: int) -> tuple[float, float]:
        return 0.0, float(length)


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

    def draw(self, batch: int, length: int, generator: torch.Generator | Twisters) -> Int[Tensor, "*E B L"]:
        """Sample ``batch`` sequences of ``length`` symbols, each 0 or 1, with the randomness of ``generator``.

        The lab draws from its own distributions for E models at once.
        """
        uniform = rand(generator, batch, length)
        return (uniform < self.probability(batch, generator)).long()

    @abstractmethod
    def probability(self, batch: int, generator: torch.Generator | Twisters) -> Float[Tensor, "*E #B 1"] | float:
        """Return the probability of a 1: one number, or one for each of ``batch`` sequences.

        Random probabilities are drawn with ``generator``.
        """


class Bernoulli(InputDistribution):
    """Each symbol is 1 with probability ``p``, independently (paper, section 3: p = 1/2)."""

    def __init__(self, p: Annotated[float, Field(ge=0, le=1)]):
        self.p = p

    def probability(self, batch: int, generator: torch.Generator | Twisters) -> float:
        return self.p


class UniformCount(InputDistribution):
    """The number of ones is uniform on 0..l, their arrangement random (paper, appendix F).

    Drawn as p ~ U(0, 1) and then Bernoulli(p), so every prefix of length k has a uniform count on 0..k.
    """

    def probability(self, batch: int, generator: torch.Generator | Twisters) -> Float[Tensor, "*E B 1"]:
        return rand(generator, batch, 1)


TASKS = Registry("task", NumberTask, {"mean": Mean, "length": Length, "sum": Sum})
INPUTS = Registry("inputs", InputDistribution, {"bernoulli": Bernoulli, "uniform_count": UniformCount})
