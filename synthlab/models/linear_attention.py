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

from synthlab.errors import InputError
from synthlab.models.encodings import Dims, Encoding, NoPE
from synthlab.models.layers import Generators, Linear, draw


class LinearAttention(nn.Module):
    """Models side by side, one for each of ``generators``. Each reads out every prefix of its input at the prefix's
    last symbol."""

    def __init__(
        self,
        make_encoding: Callable[[Dims], Encoding],
        generators: Generators,
        /,
        head_dim: Annotated[int, Field(gt=0, le=16_384)],
        bos: bool,
        init_scale: PositiveFloat,
    ):
        super().__init__()
        models = len(generators)
        self.encoding = make_encoding(Dims(head_dim, 1, models))
        if not isinstance(self.encoding, NoPE):
            raise InputError("model=linear: the theory's model has no position encoding; choose encoding=nope")
        self.bos = bos
        # A symbol is the pair (its value, is it BOS), so that without BOS the second column of each map is idle.
        self.queries, self.keys, self.values = (Linear(models, 2, d) for d in (head_dim, head_dim, 1))
        for layer in (self.queries, self.keys, self.values):
            draw(layer.weight, init_scale / math.sqrt(2), generators)
            draw(layer.bias, init_scale / math.sqrt(2), generators)

    def forward(self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B P"] | None = None) -> Float[Tensor, "E B L"]:
        """The readout of every prefix ``x[:, :, :k]``."""
        symbols = torch.stack((x, torch.zeros_like(x)), -1).to(self.queries.weight.dtype)
        asked = symbols
        if self.bos:
            bos = symbols.new_tensor([0.0, 1.0]).expand(*x.shape[:2], 1, 2)
            asked = torch.cat((bos, symbols), 2)
        products = self.queries(symbols) @ self.keys(asked).mT  # E B L L(+1)
        seen = torch.ones_like(products[0, 0]).tril(int(self.bos))
        return ((products * seen) @ self.values(asked)).squeeze(-1) / seen.sum(-1)

    def outputs(self) -> Float[Tensor, "E 2 S"]:
        """M[a, b] = (q(a) . k(b)) v(b) for the last symbol a and each symbol b that is attended to, 0, 1 and, with one,
        BOS: all that a model can compute."""
        like = self.queries.weight
        symbols = like.new_tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).expand(len(like), 3, 2)
        seen = symbols[:, : 2 + self.bos]
        return (self.queries(symbols[:, :2]) @ self.keys(seen).mT) * self.values(seen).mT
