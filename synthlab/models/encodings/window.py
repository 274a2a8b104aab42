"""Attention within a window."""

import math
from collections.abc import Mapping
from typing import Any

import torch

from synthlab.models.encodings.around import Around
from synthlab.models.encodings.base import Dims
from synthlab.runs.run import Tokens
from synthlab.styles import DOTS, SLATE, Style


class Window(Around):
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
