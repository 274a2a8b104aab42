"""A learned function of the distance, relative to the query's position."""

from typing import Annotated

import torch
from pydantic import Field, PositiveFloat
from torch import nn

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter, init_uniform
from synthlab.styles import CYAN, DOTS, Style


class FIRE(Encoding):
    """A bias that an MLP computes from the distance, relative to the query's position.

    Source: Li et al., 2024, arXiv 2310.04418.

    Its input is log(1 + c (i - j)) / log(1 + c max(i, m L)) for query i and key j, both counted from 0, with c and m
    learned, at first 0.1 and 1, and L = ``threshold``. The MLP has ``hidden`` ReLU units and an output for each head.
    Each layer has its own. Public code differs: some takes the smaller of i and L, against the paper.
    """

    style = Style("FIRE", CYAN, DOTS, ",")

    for_each_layer = True

    def __init__(self, dims: Dims, /, threshold: PositiveFloat, hidden: Annotated[int, Field(ge=1, le=16_384)]):
        super().__init__()
        self.threshold = threshold
        self.c, self.multiplier = (ensemble_parameter(dims.models, 1, 1, 1) for _ in range(2))
        self.up, self.up_bias = (ensemble_parameter(dims.models, 1, 1, 1, hidden) for _ in range(2))
        self.down, self.down_bias = (ensemble_parameter(dims.models, rows, dims.heads) for rows in (hidden, 1))

    def initialise(self, generators):
        nn.init.constant_(self.c, 0.1)
        nn.init.ones_(self.multiplier)
        of_down = self.down.shape[1] ** -0.5  # one over the root of the inputs, as torch initializes linear layers
        for parameter, bound in ((self.up, 1.0), (self.up_bias, 1.0), (self.down, of_down), (self.down_bias, of_down)):
            init_uniform(parameter, -bound, bound, generators)

    def bias(self, query, key):
        distance = (query - key).clamp(min=0)
        longest = torch.maximum(query.to(self.c.dtype), (self.multiplier * self.threshold).abs())
        relative = (self.c * distance).abs().log1p() / ((self.c * longest).abs().log1p() + 1e-6)  # E B Q K
        hidden = (relative.unsqueeze(-1) * self.up + self.up_bias).relu()
        outputs = torch.baddbmm(self.down_bias, hidden.flatten(1, -2), self.down)
        return outputs.unflatten(1, hidden.shape[1:-1]).movedim(-1, -3)
