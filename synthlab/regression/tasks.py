"""Tasks: what is to be predicted from a binary sequence, at every prefix."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.config.registry import Registry


class Task(ABC):
    """A real-valued target for every prefix of a binary sequence."""

    @abstractmethod
    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        """The target of each prefix ``x[:, :k]``, k = 1..L, in natural units."""

    @abstractmethod
    def span(self, length: int) -> tuple[float, float]:
        """The smallest and the largest target over all sequences of 1 to ``length`` symbols."""


def _lengths(x: Tensor) -> Tensor:
    return torch.arange(1, x.shape[1] + 1, device=x.device, dtype=torch.get_default_dtype())


class Mean(Task):
    """The share of ones (paper, section 3)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return x.cumsum(1) / _lengths(x)

    def span(self, length: int) -> tuple[float, float]:
        return 0.0, 1.0


class Length(Task):
    """The number of symbols (paper, section 3)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return _lengths(x).expand(x.shape)

    def span(self, length: int) -> tuple[float, float]:
        return 1.0, float(length)


class Sum(Task):
    """The number of ones (paper, appendix C)."""

    def targets(self, x: Int[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        return x.cumsum(1).to(torch.get_default_dtype())

    def span(self, length: int) -> tuple[float, float]:
        return 0.0, float(length)


TASKS = Registry("task", Task, {"mean": Mean, "length": Length, "sum": Sum})
