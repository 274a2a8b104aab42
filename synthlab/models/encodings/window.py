"""Attention within a window."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import torch
from pydantic import Field

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.wrapper import EncodingWrapper
from synthlab.runs.run import Tokens
from synthlab.styles import BERRY, DASHES, DOTS, SLATE, Style


class Window(EncodingWrapper):
    """The ``width`` keys nearest to a query, itself included, encoded by ``inner``; it sees no others.

    Source: Beltagy et al., 2020, arXiv 2004.05150, section 3.1, one-directional. Bias -inf where i - j >= ``width``.
    """

    style = Style("window", SLATE, DOTS, "_")

    def __init__(self, dims: Dims, /, width: Tokens, inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        super().__init__(ENCODINGS.build(inner, dims, field="encoding.inner"))
        self.check_positions(inner)
        self.width = width

    @property
    def needs_softmax(self):
        return True

    def bias(self, query, key):
        hidden = (query - key >= self.width).unsqueeze(-3)
        window = torch.zeros_like(hidden, dtype=torch.get_default_dtype()).masked_fill(hidden, -math.inf)
        inner = self.inner.bias(query, key)
        return window if inner is None else window + inner


class HardALiBi(Encoding):
    """The first ``share`` of the heads see windows: head h, counted from 1, the h nearest keys. The others see all.

    Source: Jelassi et al., 2024, arXiv 2402.01032, section 3.2. There is no other position.
    """

    style = Style("Hard-ALiBi", BERRY, DASHES, "$h$")

    def __init__(self, dims: Dims, /, share: Annotated[float, Field(gt=0, le=1)]):
        super().__init__()
        head = torch.arange(1, dims.heads + 1)
        self.widths: torch.Tensor
        self.register_buffer("widths", torch.where(head <= share * dims.heads, head, 10**12), persistent=False)

    @property
    def needs_softmax(self):
        return True

    def bias(self, query, key):
        hidden = (query - key).unsqueeze(-3) >= self.widths[:, None, None]
        return torch.zeros_like(hidden, dtype=torch.get_default_dtype()).masked_fill(hidden, -math.inf)
