"""Biases that depend on all heads' logits."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field
from torch.nn import functional as F

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.wrapper import EncodingWrapper
from synthlab.models.layers import ensemble_parameter, init_uniform
from synthlab.styles import DASHDOT, KHAKI, Style


class DAPE(EncodingWrapper):
    """Data-adaptive positions: an MLP adds to the logits of all heads what it makes of them and of their biases.

    Source: Zheng et al., 2024, arXiv 2405.14722. With products A = q . k / sqrt(d) of all heads and the biases B of
    ``inner``, the logits are A + B + f(A, B). f has ``hidden`` leaky ReLU units and is computed for each query and key.
    Each layer has its own f, and its own ``inner``, as in the authors' code.
    """

    style = Style("DAPE", KHAKI, DASHDOT, "$D$")

    def __init__(self, dims: Dims, /, hidden: Annotated[int, Field(ge=1, le=16_384)], inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        super().__init__(ENCODINGS.build(inner, dims, field="encoding.inner"))
        if "bias" not in self.inner.hooks:
            raise InputError(f"encoding.inner={inner['name']}: has no bias; choose kerple, alibi, fire or t5")
        self.for_each_layer = True
        heads = dims.heads
        self.of_logits, self.of_bias = (ensemble_parameter(dims.models, 1, hidden, heads) for _ in range(2))
        self.up_bias, self.down_bias = (ensemble_parameter(dims.models, 1, n, 1, 1) for n in (hidden, heads))
        self.down = ensemble_parameter(dims.models, 1, heads, hidden)

    def initialise(self, generators):
        self.inner.initialise(generators)
        of_up, of_down = (2 * self.down.shape[2]) ** -0.5, self.down.shape[3] ** -0.5  # as torch's linear layers
        up, down = (self.of_logits, self.of_bias, self.up_bias), (self.down, self.down_bias)
        for parameters, bound in ((up, of_up), (down, of_down)):
            for parameter in parameters:
                init_uniform(parameter, -bound, bound, generators)

    def adjust(self, logits, q, mask, bias):
        logits = self.inner.adjust(logits, q, mask, bias)
        # Where a window hides a key, its bias is minus infinity, and so is its logit in any case.
        products = (logits - bias).nan_to_num(0.0)
        bias = bias.nan_to_num(neginf=0.0).expand(-1, -1, logits.shape[2], -1, -1)

        def mix(weights, values):
            return (weights @ values.flatten(-2)).unflatten(-1, values.shape[-2:])

        hidden = F.leaky_relu(mix(self.of_logits, products) + mix(self.of_bias, bias) + self.up_bias)
        return logits + mix(self.down, hidden) + self.down_bias
