"""Contextual positions."""

from typing import Annotated

import torch
from pydantic import Field

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter, init_normal, sum_from
from synthlab.styles import GOLD, LONG, Style


class CoPE(Encoding):
    """Contextual positions: how many tokens since the key the query counts (Golovneva et al., 2024, arXiv 2405.18719).

    The position of key j for query i is p = sum over t = j..i of sigmoid(q_i . k_t / sqrt(d)), at most ``table`` - 1.
    The query's product with a learned vector of position p is added to q_i . k_j, before the division by sqrt(d).
    Between whole positions, products are interpolated. All heads of a layer share the vectors, whose initial standard
    deviation is ``scale``: 0 in the authors' code.
    """

    style = Style("CoPE", GOLD, LONG, "x")

    for_each_layer = True

    def __init__(
        self, dims: Dims, /, table: Annotated[int, Field(ge=2, le=10**6)], scale: Annotated[float, Field(ge=0)]
    ):
        super().__init__()
        self.scale = scale
        self.vectors = ensemble_parameter(dims.models, table, dims.width // dims.heads)

    def initialise(self, generators):
        init_normal(self.vectors, self.scale, generators)

    def adjust(self, logits, q, mask, bias):
        gates = logits.sigmoid() * mask
        place = sum_from(gates).clamp(max=self.vectors.shape[1] - 1)
        below, above = place.floor(), place.ceil()
        products = torch.bmm(q.flatten(1, -2), self.vectors.mT.contiguous()).unflatten(1, q.shape[1:-1])
        products = products * q.shape[-1] ** -0.5  # E B H Q positions
        low, high = (products.gather(-1, each.long()) for each in (below, above))
        return logits + low + (high - low) * (place - below)
