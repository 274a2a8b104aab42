"""Layers of E models of one shape side by side: every parameter has a leading dimension of models.

One batched product serves all models, so that many small ones cost little more than their arithmetic. No operation
mixes models: each computes what it would compute alone, for most shapes to the last bit (see ``training.exactness``).
What differs from model to model must be a parameter; a buffer is the same for all.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from synthlab.models.encoding_base import Encoding

Generators = Sequence[torch.Generator]


def stacked(models: int, *shape: int) -> nn.Parameter:
    """A parameter of ``models`` models, its values left open."""
    return nn.Parameter(torch.empty(models, *shape))


def draw(parameter: nn.Parameter, deviation: float, generators: Generators) -> None:
    """Normal values for each model, from its own generator."""
    for values, generator in zip(parameter.data, generators, strict=True):
        values.normal_(std=deviation, generator=generator)


def take(table: Float[Tensor, "E R *F"], index: Int[Tensor, "#E *I"]) -> Float[Tensor, "..."]:
    """Each model's rows of its own ``table``, [E, *I, *F]."""
    models, rows = table.shape[:2]
    offset = rows * torch.arange(models, device=index.device)
    index = index + offset.view(-1, *[1] * (index.dim() - 1))
    return F.embedding(index, table.reshape(models * rows, -1)).unflatten(-1, table.shape[2:])


class Linear(nn.Module):
    """An affine map for each model."""

    def __init__(self, models: int, inputs: int, outputs: int):
        super().__init__()
        self.weight, self.bias = stacked(models, inputs, outputs), stacked(models, 1, outputs)

    def initialise(self, scale: float, generators: Generators) -> None:
        """Weights of deviation scale / sqrt(inputs), biases 0."""
        draw(self.weight, scale / math.sqrt(self.weight.shape[1]), generators)
        nn.init.zeros_(self.bias)

    def forward(self, h: Float[Tensor, "E *N i"]) -> Float[Tensor, "E *N o"]:
        rows = h.flatten(1, -2)
        if self.weight.shape[-1] == 1:  # a product with one column is several times slower than a sum
            out = (rows * self.weight.mT).sum(-1, keepdim=True) + self.bias
        else:
            out = torch.baddbmm(self.bias, rows, self.weight)
        return out.unflatten(1, h.shape[1:-1])


class LayerNorm(nn.Module):
    """Layer normalization with each model's own scale and shift."""

    def __init__(self, models: int, width: int):
        super().__init__()
        self.scale, self.shift = stacked(models, 1, width), stacked(models, 1, width)
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)

    def forward(self, h: Float[Tensor, "E *N D"]) -> Float[Tensor, "E *N D"]:
        normal = F.layer_norm(h, h.shape[-1:]).flatten(1, -2)
        return torch.addcmul(self.shift, normal, self.scale).view(h.shape)


class MLP(nn.Sequential):
    """A feed-forward net with one hidden layer."""

    def __init__(self, models: int, width: int, hidden: int, out: int):
        super().__init__(Linear(models, width, hidden), nn.GELU(), Linear(models, hidden, out))


class Member:
    """One model of a stack, called as if it were alone: on x [B, L] and positions [B, P], wherever the stack's device
    is. It answers with a number for each place of x, or with one for each token of a vocabulary."""

    def __init__(self, stack: nn.Module, index: int):
        self.stack, self.encoding = stack, cast("Encoding", stack.encoding)
        self.values = {name: values[index : index + 1] for name, values in stack.named_parameters()}

    def __call__(self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B P"] | None = None) -> Float[Tensor, "B L *V"]:
        device = next(iter(self.values.values())).device
        given = (x[None].to(device), None if positions is None else positions[None].to(device))
        return torch.func.functional_call(self.stack, self.values, given)[0].to(x.device)
