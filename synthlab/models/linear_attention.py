"""The model of the paper's theory: one head of linear attention, normalized by position (equations 5 to 7).

    g(x[:k]) = 1/n sum_i (q(x_k) . k(x_i)) v(x_i)

The sum is over the n visible symbols: x_1..x_k, and BOS where there is one. Queries, keys and values have biases;
values are scalars. There is no EOS: the query is the last symbol.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.encodings import NoPE
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import Generators, Linear, init_normal


class LinearAttention(nn.Module):
    """An ensemble, one model for each of ``generators``, that predicts a number for every prefix at its last symbol."""

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
        self.encoding = self.build_encoding(make_encoding, models, head_dim=head_dim)
        self.bos = bos
        # A symbol is encoded as the pair (its value, whether it is BOS). Without BOS the second input is always 0.
        self.queries, self.keys, self.values = (Linear(models, 2, d) for d in (head_dim, head_dim, 1))
        for layer in (self.queries, self.keys, self.values):
            init_normal(layer.weight, init_scale / math.sqrt(2), generators)
            init_normal(layer.bias, init_scale / math.sqrt(2), generators)

    @staticmethod
    def build_encoding(
        make_encoding: Callable[[Dims], Encoding], models: int, *, head_dim: int, **others: Any
    ) -> Encoding:
        """Return the encoding of models of these sizes. Raises InputError for any other than NoPE."""
        encoding = make_encoding(Dims(head_dim, 1, models))
        if not isinstance(encoding, NoPE):
            raise InputError("model=linear: the theory's model has no position encoding; choose encoding=nope")
        return encoding

    def forward(self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B P"] | None = None) -> Float[Tensor, "E B L"]:
        """Return the prediction for every prefix ``x[:, :, :k]``."""
        symbols = torch.stack((x, torch.zeros_like(x)), -1).to(self.queries.weight.dtype)
        attended = symbols
        if self.bos:
            bos = symbols.new_tensor([0.0, 1.0]).expand(*x.shape[:2], 1, 2)
            attended = torch.cat((bos, symbols), 2)
        products = self.queries(symbols) @ self.keys(attended).mT  # E B L L(+1)
        mask = torch.ones_like(products[0, 0]).tril(int(self.bos))
        return ((products * mask) @ self.values(attended)).squeeze(-1) / mask.sum(-1)

    def outputs(self) -> Float[Tensor, "E 2 S"]:
        """Return the output matrix M[a, b] = (q(a) . k(b)) v(b), whose entries the model's outputs average.

        a = 0, 1 is the last symbol; b = 0, 1 and, if there is one, BOS is the attended symbol.
        """
        weight = self.queries.weight
        symbols = weight.new_tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).expand(len(weight), 3, 2)
        attended = symbols[:, : 2 + self.bos]
        return (self.queries(symbols[:, :2]) @ self.keys(attended).mT) * self.values(attended).mT
