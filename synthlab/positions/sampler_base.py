"""The interface of samplers of position ids."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Int
from torch import Tensor


class PositionSampler(ABC):
    """Gives the tokens of a training window the positions that they have in a longer text.

    Windows are tested, and without a sampler trained, at positions 0, 1, 2, ...; a sampler changes those of training
    alone. The constructor's keyword arguments are the keys of the config group ``positions``; their types are checked.

    Example:
        >>> import torch
        >>> from synthlab.positions.samplers import Contiguous
        >>> Contiguous().positions(2, 4, torch.Generator()).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
    """

    @abstractmethod
    def positions(self, rows: int, length: int, generator: torch.Generator) -> Int[Tensor, "rows length"]:
        """The positions of windows' tokens, increasing along each window.

        Args:
            rows: The number of windows.
            length: The number of tokens of each.
            generator: The source of random numbers.

        Returns:
            The position of each token, from 0 on.
        """

    def reach(self, length: int) -> int:
        """One more than the largest position that windows of ``length`` tokens can be given."""
        return length
