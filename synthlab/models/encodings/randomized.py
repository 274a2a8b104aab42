"""Randomized positions around another encoding."""

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from pydantic import Field

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding


class Randomized(Encoding):
    """Randomized positions (Ruoss et al., 2023; RandomPos in the paper's Table 1): a sorted random subset of
    range(``span``), encoded by ``inner``.

    Training thus visits the positions that longer test sequences use. Each prefix of k symbols has k + 2 positions,
    drawn for it alone.
    """

    draws_positions = True

    def __init__(self, dims: Dims, /, span: Annotated[int, Field(ge=3, le=10**6)], inner: Mapping[str, Any]):
        from synthlab.models.encodings import ENCODINGS  # which has this class, too

        super().__init__()
        self.inner = ENCODINGS.build(inner, dims, field="encoding.inner")
        if self.inner.depends_on_length:
            raise InputError(
                f"encoding.inner={inner['name']}: depends on the length of a text, which random positions do not tell"
            )
        if self.inner.longest() < span - 2:
            raise InputError(
                f"encoding.span={span}: encoding.inner={inner['name']} has positions for {self.inner.longest() + 2}"
            )
        self.span = span

    def initialise(self, generators):
        self.inner.initialise(generators)

    def longest(self):
        return self.span - 2

    def positions(self, lengths, count, generator):
        # The k + 2 smallest of `span` random keys mark a random subset, which is then sorted. Rows shorter than `count`
        # are padded with their last position; the prefix's EOS does not see the padding.
        keys = torch.rand(len(lengths), self.span, generator=generator)
        rank = keys.argsort(1).argsort(1)
        chosen = rank < (lengths + 2)[:, None]
        order = torch.where(chosen, torch.arange(self.span), self.span).sort(1).values[:, :count]
        last = order.gather(1, (lengths + 1)[:, None])
        return torch.minimum(order, last)

    def embed(self, h, positions):
        return self.inner.embed(h, positions)

    def rotate(self, v, positions):
        return self.inner.rotate(v, positions)

    def sharpen(self, positions):
        return self.inner.sharpen(positions)

    def bias(self, query, key):
        return self.inner.bias(query, key)

    def relative(self, query, key):
        return self.inner.relative(query, key)

    def products(self, q, k, relative, multiply):
        return self.inner.products(q, k, relative, multiply)
