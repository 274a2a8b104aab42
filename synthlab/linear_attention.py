"""The model of the paper's theory: one head of linear attention, normalized by position (equations 5 to 7).

    g(x[:k]) = 1/n sum_i (q(x_k) . k(x_i)) v(x_i)

over the n symbols seen: x_1..x_k, and BOS where there is one. Queries, keys and values have biases; values are scalars,
and there is no EOS: the last symbol asks.
"""

import math
from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from synthlab.encodings import Dims, Encoding, NoPE
from synthlab.errors import InputError


class LinearAttention(nn.Module):
    """Reads out every prefix of its input at the prefix's last symbol."""

    def __init__(
        self,
        make_encoding: Callable[[Dims], Encoding],
        generator: torch.Generator,
        /,
        head_dim: Annotated[int, Field(gt=0, le=16_384)],
        bos: bool,
        init_scale: PositiveFloat,
    ):
        super().__init__()
        self.encoding = make_encoding(Dims(head_dim, 1))
        if not isinstance(self.encoding, NoPE):
            raise InputError("model=linear: the theory's model has no position encoding; choose encoding=nope")
        self.bos = bos
        # A symbol is the pair (its value, is it BOS), so that without BOS the second column of each map is idle.
        self.queries, self.keys, self.values = (nn.utils.skip_init(nn.Linear, 2, d) for d in (head_dim, head_dim, 1))
        for layer in (self.queries, self.keys, self.values):
            nn.init.normal_(layer.weight, std=init_scale / math.sqrt(2), generator=generator)
            nn.init.normal_(layer.bias, std=init_scale / math.sqrt(2), generator=generator)

    def forward(self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B P"] | None = None) -> Float[Tensor, "B L"]:
        """The readout of every prefix ``x[:, :k]``."""
        symbols = torch.stack((x, torch.zeros_like(x)), -1).to(self.queries.weight.dtype)
        asked = symbols
        if self.bos:
            bos = symbols.new_tensor([0.0, 1.0]).expand(len(x), 1, 2)
            asked = torch.cat((bos, symbols), 1)
        products = self.queries(symbols) @ self.keys(asked).mT  # B L L(+1)
        seen = torch.ones_like(products[0]).tril(int(self.bos))
        return ((products * seen) @ self.values(asked)).squeeze(-1) / seen.sum(-1)

    def outputs(self) -> Float[Tensor, "2 S"]:
        """M[a, b] = (q(a) . k(b)) v(b) for the last symbol a and each symbol b that is attended to, 0, 1 and, with one,
        BOS: all that the model can compute."""
        symbols = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=self.queries.weight.dtype)
        seen = symbols[: 2 + self.bos]
        return (self.queries(symbols[:2]) @ self.keys(seen).mT) * self.values(seen).mT
