"""The packed layout: every prefix of a sequence is a training example, and all of them share one row.

Under a causal mask the tokens of a prefix never see what follows. So the prefixes of x1..xL can share the row
``[BOS, x1..xL, EOS x L]``. The k-th EOS has position k + 1, sees BOS, x1..xk and itself, and reads out the prefix of
length k: exactly what ``[BOS, x1..xk, EOS]`` would give alone. A row of 2L + 1 tokens thus holds one example of every
length.

No token but itself sees an EOS. So the keys of each query are the first P = L + 1 tokens (BOS, x1..xL) and, in a column
of its own, the query's token: K = P + 1. An EOS needs that column; BOS and symbols are among the first P, and their
own column is masked.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import Linear

BOS, EOS = 2, 3
VOCABULARY = 4  # the symbols 0 and 1, BOS, EOS


class PackedTokens(NamedTuple):
    """Rows of T tokens as attention takes them. Queries are the tokens from ``first_query`` on.

    Attributes:
        positions: The position of each token.
        mask: True where a query sees a key. The last of the K columns is the query's own token.
        bias: What the position encoding adds to the logits, or None.
        first_query: 0, or P in the last layer, where only the EOS tokens are read.
        extend: From keys and values of these tokens to those of the whole text, where they continue one; else None. The
            mask and the bias then have a row for each of these tokens, and a column for each key of the text.
        relative: The relative positions that the encoding's ``products`` takes, or None.
    """

    positions: Int[Tensor, "#E #B T"]
    mask: Bool[Tensor, "*rows Q K"]
    bias: Float[Tensor, "#E #B H Q K"] | None
    first_query: int = 0
    extend: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    relative: Float[Tensor, "#E #B 1 Q K"] | None = None

    def only_readouts(self) -> "PackedTokens":
        """The same rows with the EOS tokens as the only queries."""
        first = self.mask.shape[-1] - 1
        bias, relative = (None if each is None else each[..., first:, :] for each in (self.bias, self.relative))
        return PackedTokens(self.positions, self.mask[first:], bias, first, relative=relative)

    def queries(self, h: Float[Tensor, "E B T D"]) -> Float[Tensor, "E B Q D"]:
        """The residual stream of the queries."""
        return h[:, :, self.first_query :]

    def keys_seen(self) -> Int[Tensor, "*rows Q 1"]:
        """The number of keys that each query sees."""
        return self.mask.sum(-1, keepdim=True)

    def products(self, q: Float[Tensor, "E B H Q d"], k: Float[Tensor, "E B H T d"]) -> Float[Tensor, "E B H Q K"]:
        """The inner products of each query and its keys."""
        prefix = self.mask.shape[-1] - 1
        own = (q * k[..., -q.shape[-2] :, :]).sum(-1, keepdim=True)
        return torch.cat((q @ k[..., :prefix, :].mT, own), -1)

    def mix(
        self, weights: Float[Tensor, "E B H Q K"], v: Float[Tensor, "E B H T d"], output: Linear
    ) -> Float[Tensor, "E B Q D"]:
        """The weighted sum of each query's values, all heads through the ``output`` projection."""
        prefix = self.mask.shape[-1] - 1
        heads = weights[..., :prefix] @ v[..., :prefix, :] + weights[..., prefix:] * v[..., -weights.shape[-2] :, :]
        return output(heads.transpose(2, 3).flatten(-2))


def packed_tokens(
    x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None, encoding: Encoding
) -> PackedTokens:
    """What attention needs to know of the packed rows of ``x``. ``positions`` as in ``Transformer.forward``."""
    length = x.shape[-1]
    positions = packed_positions(length, positions, x.device)
    own = positions.unsqueeze(-1)
    keys = torch.cat((positions[..., None, : length + 1].expand(*positions.shape, -1), own), -1)
    mask = packed_mask(length, x.device)
    return PackedTokens(positions, mask, encoding.bias(own, keys), relative=encoding.relative(own, keys))


def with_ends(x: Int[Tensor, "B L"]) -> Int[Tensor, "B L+2"]:
    """The rows ``[BOS, x1..xL, EOS]``: whole sequences, not packed."""
    return torch.cat((x.new_full((len(x), 1), BOS), x, x.new_full((len(x), 1), EOS)), -1)


def pack(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """The packed rows ``[BOS, x1..xL, EOS x L]``; T = 2L + 1."""
    bos = x.new_full((*x.shape[:-1], 1), BOS)
    return torch.cat((bos, x, torch.full_like(x, EOS)), -1)


def packed_positions(
    length: int, positions: Int[Tensor, "E B N"] | None, device: torch.device
) -> Int[Tensor, "#E #B T"]:
    """The position of every packed token, given those of BOS, x1..xL and the last EOS (None: 0..L + 1)."""
    ranks = packed_ranks(length, device)
    return ranks.view(1, 1, -1) if positions is None else positions[..., ranks]


@lru_cache(maxsize=64)
def packed_ranks(length: int, device: torch.device) -> Int[Tensor, " T"]:
    """The place of each packed token in its prefix, counted from 0: 0..L for BOS and symbols, 2..L + 1 for the EOS."""
    return torch.cat((torch.arange(length + 1), torch.arange(2, length + 2))).to(device)


@lru_cache(maxsize=64)
def packed_mask(length: int, device: torch.device) -> Bool[Tensor, "T K"]:
    """The attention mask: which of BOS, x1..xL and itself (last column) each packed token sees."""
    token = torch.arange(length + 1)
    causal = token <= token[:, None]
    symbols = torch.cat((causal, torch.zeros(length + 1, 1, dtype=torch.bool)), 1)
    readouts = torch.cat((causal[1:], torch.ones(length, 1, dtype=torch.bool)), 1)
    return torch.cat((symbols, readouts)).to(device)
