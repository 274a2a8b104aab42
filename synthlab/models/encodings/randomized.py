"""Randomized positions around another encoding."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import torch
from pydantic import Field

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.by_layer import Layered
from synthlab.models.encodings.wrapper import EncodingWrapper
from synthlab.positions.samplers import draw_subsets
from synthlab.styles import BROWN, DOTS, Style


class Randomized(EncodingWrapper):
    """Randomized positions: a sorted random subset of range(``span``), encoded by ``inner``.

    Source: Ruoss et al., 2023; RandomPos in the paper's Table 1. Training visits the positions that longer texts use.
    Each text has positions of its own, drawn in tests too; ``positions=randpos`` draws the same way, but in training
    only.
    """

    style = Style("randomized", BROWN, DOTS, "X")

    draws_positions = True

    def __init__(self, dims: Dims, /, span: Annotated[int, Field(ge=3, le=10**6)], inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        super().__init__(ENCODINGS.build(inner, dims, field="encoding.inner"))
        if self.inner.alike_up_to(1) < math.inf:
            raise InputError(
                f"encoding.inner={inner['name']}: depends on the length of the text, which random "
                "positions do not determine"
            )
        if self.inner.longest() < span:
            raise InputError(
                f"encoding.span={span}: encoding.inner={inner['name']} has positions for {self.inner.longest()}"
            )
        self.span = span

    def at_layer(self, layer):
        return self.inner.at_layer(layer) if isinstance(self.inner, Layered) else self

    def longest(self):
        return self.span

    def positions(self, lengths, count, generator):
        return draw_subsets(lengths, count, self.span, generator, torch.get_default_dtype())
