"""Attention that counts: the weights of BOS and of the query's own token fall as a chosen power of the length."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from pydantic import PositiveFloat

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.wrapper import EncodingWrapper
from synthlab.styles import COPPER, DASHDOT, Style

Raised = Literal["bos", "both", "own", "none"]


class Readout(EncodingWrapper):
    """An encoding whose readout weight falls as k^-q, at a query that has k tokens between BOS and itself.

    For softmax attention, around the encoding ``inner``. The logits that ``raised`` names get (1 - q) log k:

    - ``bos``: those of BOS; with equal logits otherwise, BOS has the weight k^(1-q) / (k^(1-q) + k + 1);
    - ``both``: those of BOS and of the query's own token; each has the weight 1 / (2 + k^q);
    - ``own``: those of the query's own token, while BOS is hidden; its weight is 1 / (1 + k^q);
    - ``none``: no logit, while BOS and the query's own token are hidden, so that no weight tells k.

    A query that directly follows BOS (k = 0) hides nothing and raises nothing. With q = 1 and ``bos`` or ``both``, this
    is ``inner``. Raises InputError for an ``inner`` that draws random positions, which do not determine k.

    Example:
        >>> import torch, synthlab
        >>> from synthlab.models.encodings.readout import Readout
        >>> encoding = Readout(synthlab.Dims(width=8, heads=2), q=2.0, raised="both", inner={"name": "nope"})
        >>> query, key = torch.tensor([[[[5]]]]), torch.tensor([[[[0, 1, 2, 3, 4, 5]]]])  # BOS, four symbols, EOS
        >>> weights = encoding.bias(query, key).softmax(-1)
        >>> round(1 / weights[..., 0].item()), round(1 / weights[..., 5].item())  # 2 + 4^2
        (18, 18)
    """

    style = Style("readout", COPPER, DASHDOT, "$R$")

    def __init__(self, dims: Dims, /, q: PositiveFloat, raised: Raised, inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        super().__init__(ENCODINGS.build(inner, dims, field="encoding.inner"))
        self.check_positions(inner)
        if self.inner.draws_positions:
            raise InputError(
                f"encoding.inner={inner['name']}: draws random positions, which do not determine the length"
            )
        self.q, self.raised = q, raised

    def bias(self, query, key):
        bos, own = key == 0, key == query
        neither = torch.zeros_like(bos)
        raised = {"bos": bos, "both": bos | own, "own": own, "none": neither}[self.raised]
        hidden = {"bos": neither, "both": neither, "own": bos, "none": bos | own}[self.raised] & (query > 1)
        rise = (1 - self.q) * (query - 1).clamp(min=1).to(torch.get_default_dtype()).log()  # 0 for k = 0, as for k = 1
        bias = torch.where(raised, rise, 0.0).masked_fill(hidden, -math.inf).unsqueeze(-3)
        inner = self.inner.bias(query, key)
        return bias if inner is None else bias + inner
