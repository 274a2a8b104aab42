"""Tasks: real-valued targets for every prefix of a binary sequence."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

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


TASKS = Registry("task", NumberTask, {"mean": Mean, "length": Length, "sum": Sum})
