"""Logits that grow with the logarithm of the number of keys."""

from collections.abc import Mapping
from typing import Any

from pydantic import PositiveFloat
from torch import nn

from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.wrapper import EncodingWrapper
from synthlab.models.layers import ensemble_parameter
from synthlab.styles import DASHES, LAVENDER, Style


class SSMax(EncodingWrapper):
    """Scalable softmax: logits times s log n for a query that sees n keys (Nakanishi, 2025, arXiv 2501.19399).

    Each head of each layer learns its s, at first ``scale``. Without ``learned``, s stays as it is: with a scale of 1
    this is the factor log n of Chiang and Cholak (2022, arXiv 2202.12172). The encoding is ``inner``.
    """

    style = Style("SSMax", LAVENDER, DASHES, "$S$")

    def __init__(self, dims: Dims, /, scale: PositiveFloat, learned: bool, inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        super().__init__(ENCODINGS.build(inner, dims, field="encoding.inner"))
        self.check_positions(inner)
        self.for_each_layer, self.initial = True, scale
        self.scales = ensemble_parameter(dims.models, 1, 1, dims.heads).requires_grad_(learned)

    def initialise(self, generators):
        nn.init.constant_(self.scales, self.initial)
        super().initialise(generators)

    def sharpen(self, positions):
        scale = self.scales * (positions + 1).to(self.scales.dtype).log().unsqueeze(-1)
        inner = self.inner.sharpen(positions)
        if inner is None:
            return scale
        return scale * (inner if inner.dim() == scale.dim() else inner.unsqueeze(-1))
