"""Short convolutions over a token and those just before it, by which attention or a mixer reads neighbours.

Source: Allen-Zhu, 2025, arXiv 2512.17351 (Canon layers); Peng et al., 2023, arXiv 2305.13048 (token shift).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.models.layers import Generators, ensemble_parameter, init_uniform


class Convolution(nn.Module, ABC):
    """A sum over tokens, for each number of the width, with weights that each model learns."""

    @abstractmethod
    def initialise(self, generators: Generators) -> None:
        """Initialize the weights."""

    @abstractmethod
    def forward(self, h: Float[Tensor, "E B T D"], earlier: Callable[[int], Tensor]) -> Float[Tensor, "E B T D"]:
        """Return the sums, given the hidden states and those of the tokens n places ``earlier``, 0 before the first."""


class Canon(Convolution):
    """h_t + w_0 h_t + w_1 h_{t-1} + w_2 h_{t-2} + w_3 h_{t-3}; at first, weights are uniform on (-1/2, 1/2).

    This is Canon-A: it is before attention, and neither in it nor before the MLP.
    """

    def __init__(self, models: int, width: int):
        super().__init__()
        self.weights = ensemble_parameter(models, 4, 1, 1, width)

    def initialise(self, generators):
        init_uniform(self.weights, -0.5, 0.5, generators)

    def forward(self, h, earlier):
        out = h + self.weights[:, 0] * h
        for n in range(1, self.weights.shape[1]):
            out = out + self.weights[:, n] * earlier(n)
        return out


class TokenShift(Convolution):
    """m h_t + (1 - m) h_{t-1}; at first m is n / D for number n of the width, as in the first layer of RWKV.

    RWKV has an m for each of keys, values and gates.
    """

    def __init__(self, models: int, width: int):
        super().__init__()
        self.shares = ensemble_parameter(models, 1, 1, width)

    def initialise(self, generators):
        width = self.shares.shape[-1]
        self.shares.data.copy_((torch.arange(width) / width).expand(self.shares.shape))

    def forward(self, h, earlier):
        before = earlier(1)
        return before + self.shares * (h - before)


CONVOLUTIONS = {"canon": Canon, "token_shift": TokenShift}
