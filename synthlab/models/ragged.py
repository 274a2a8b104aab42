"""The ragged layout: texts of several lengths in one row, without the padding of a rectangular batch.

Linear layers, normalization and MLPs work token by token: they run on the T tokens of all texts, one after the other.
Attention works text by text: only for it are queries, keys and values placed in a rectangle of R rows and C columns.
Padding follows a text and attention is causal, so no token sees any.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from synthlab.models.attention import Causal, causal_mask
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import gather_rows


@dataclass(frozen=True, kw_only=True)
class Ragged(Causal):
    """R texts of up to C tokens, T in all, of an ensemble of one. ``positions`` are those of the T tokens.

    Attributes:
        is_token: False for padding of the rectangle.
    """

    is_token: Bool[Tensor, "R C"]

    @classmethod
    def of(cls, encoding: Encoding, positions: Int[Tensor, "#E #R C"], sizes: Int[Tensor, "1 R"]) -> "Ragged":
        """Lay out texts of ``sizes`` tokens, given the positions of a padded rectangle."""
        rows, width = sizes.shape[1], positions.shape[-1]
        plain = Causal.build(encoding, positions, causal_mask(width, positions.device))
        is_token = torch.arange(width, device=positions.device) < sizes[0, :, None]
        own = positions.expand(1, rows, width)[:, None, is_token]
        return cls(encoding, own, plain.mask, plain.bias, plain.relative, is_token=is_token)

    @cached_property
    def place(self) -> Int[Tensor, " T"]:
        """The place of each token in the rectangle, read row by row."""
        return self.is_token.flatten().nonzero().squeeze(1)

    def flatten(self, x: Int[Tensor, "1 R C"]) -> Int[Tensor, "1 1 T"]:
        """Remove the padding of texts."""
        return x[:, None, self.is_token]

    def spread(self, values: Shaped[Tensor, "1 1 T *F"]) -> Shaped[Tensor, "1 R C *F"]:
        """Put the value of each token at its place in the rectangle, with zeros for padding."""
        features = values.shape[3:]
        rectangle = values.new_zeros(self.is_token.numel(), *features).index_copy(0, self.place, values[0, 0])
        return rectangle.view(1, *self.is_token.shape, *features)

    def pair(self, own, positions):
        return super().pair(self.spread(own), self.spread(positions))

    def add_up(self, values: Float[Tensor, "1 1 T *C"]) -> Float[Tensor, "1 1 T *C"]:
        return self.gather(super().add_up(self.spread(values)))

    def gather(self, values: Shaped[Tensor, "1 R C *F"]) -> Shaped[Tensor, "1 1 T *F"]:
        """Return the value of each token, without padding."""
        return gather_rows(values.flatten(1, 2), self.place.view(1, 1, -1))

    def shift(self, h, places):
        return self.gather(super().shift(self.spread(h), places))

    def read_texts(self, mixer, h):
        return self.gather(mixer(self.spread(h)))

    def by_head(self, values: Float[Tensor, "1 1 T H d"]) -> Float[Tensor, "1 R H C d"]:
        return super().by_head(self.spread(values))

    def by_token(self, heads: Float[Tensor, "1 R H C d"]) -> Float[Tensor, "1 1 T H d"]:
        return self.gather(super().by_token(heads))
