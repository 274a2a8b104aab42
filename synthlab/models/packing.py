"""The packed layout: every prefix of a sequence is a training example, and all of them share one row.

Under a causal mask the tokens of a prefix never see what follows. So the prefixes of x1..xL can share the row ``[BOS,
x1..xL, EOS x L]``. The k-th EOS has position k + 1, sees BOS, x1..xk and itself, and reads out the prefix of length k:
exactly what ``[BOS, x1..xk, EOS]`` would give alone. A row of 2L + 1 tokens thus holds one example of every length.

An EOS is visible only to itself. So the keys of each query are the first P = L + 1 tokens (BOS, x1..xL) and, in a
column of its own, the query's token: K = P + 1. An EOS needs that column; BOS and symbols are among the first P, and
their own column is masked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.models.attention import Causal, lay_out_layers
from synthlab.models.encodings.base import Encoding

BOS, EOS = 2, 3
VOCABULARY = 4  # the symbols 0 and 1, BOS, EOS
ENDS = 2  # tokens added to the symbols of a sequence: BOS and EOS


@dataclass(frozen=True)
class Packed(Causal):
    """The packed layout: the last of the K columns is the query's own token."""

    @property
    def prefix(self) -> int:
        """The number of tokens before the EOS: BOS and symbols."""
        return self.mask.shape[-1] - 1

    def can_fuse(self) -> bool:
        return False  # each query has its own last column

    def pair(self, own, positions):
        query, seen = own.unsqueeze(3), positions[:, :, None, : self.prefix]
        return query, torch.cat((seen.expand(*own.shape[:3], *seen.shape[3:]), query), 3)

    def add_up(self, values: Float[Tensor, "E B T *C"]) -> Float[Tensor, "E B T *C"]:
        sums, readouts = values[:, :, : self.prefix].cumsum(2), values[:, :, self.prefix :]
        return torch.cat((sums, sums[:, :, 1:] + readouts), 2)  # the first EOS follows the first symbol

    def shift(self, h, places):
        symbols = h[..., : self.prefix, :]
        readouts = super().shift(symbols, places - 1)[..., 1:, :]  # the first EOS follows the first symbol
        return torch.cat((super().shift(symbols, places), readouts), -2)

    def read_texts(self, mixer, h):
        return torch.cat(mixer.read_prefixes(h[:, :, : self.prefix], h[:, :, self.prefix :]), 2)

    def products(self, q: Float[Tensor, "*B H Q p"], k: Float[Tensor, "*B H T p"]) -> Float[Tensor, "*B H Q K"]:
        own = (q * k[..., -q.shape[-2] :, :]).sum(-1, keepdim=True)
        return torch.cat((q @ k[..., : self.prefix, :].mT, own), -1)

    def mix(self, weights: Float[Tensor, "*B H Q K"], v: Float[Tensor, "*B H T d"]) -> Float[Tensor, "*B H Q d"]:
        of_prefix = weights[..., : self.prefix] @ v[..., : self.prefix, :]
        return of_prefix + weights[..., self.prefix :] * v[..., -weights.shape[-2] :, :]


def lay_out(
    x: Int[Tensor, "*B L"], positions: Int[Tensor, "*B N"] | None, encodings: Sequence[Encoding]
) -> list[Causal]:
    """Lay out packed rows for the last layers, given their encodings; in the very last, readouts are the only queries.

    ``positions`` are those of BOS, x1..xL and the last EOS; None for 0..L + 1.
    """
    if len(encodings) == 0:  # Dynamo of torch 2.11 cannot trace `not` of a tuple
        return []
    length = x.shape[-1]
    places = pack_positions(length, positions, x.device)
    mask = mask_packed(length, x.device)

    def build(encoding: Encoding) -> Causal:
        packed = Packed(encoding, places, mask)
        return packed if packed.locates else packed.encode(places, places)

    *others, last = lay_out_layers(encodings, build)
    return [*others, last.only_last(length)]


def with_ends(x: Int[Tensor, "B L"]) -> Int[Tensor, "B L+2"]:
    """Return the rows ``[BOS, x1..xL, EOS]``: whole sequences, not packed."""
    return torch.cat((x.new_full((len(x), 1), BOS), x, x.new_full((len(x), 1), EOS)), -1)


def pack(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """Return the packed rows ``[BOS, x1..xL, EOS x L]``; T = 2L + 1."""
    bos = x.new_full((*x.shape[:-1], 1), BOS)
    return torch.cat((bos, x, torch.full_like(x, EOS)), -1)


def pack_positions(length: int, positions: Int[Tensor, "*B N"] | None, device: torch.device) -> Int[Tensor, "*#B T"]:
    """Return the position of every packed token, given those of BOS, x1..xL and the last EOS (None: 0..L + 1)."""
    ranks = rank_packed(length, device)
    return ranks.view(1, 1, -1) if positions is None else positions[..., ranks]


@lru_cache(maxsize=64)
def rank_packed(length: int, device: torch.device) -> Int[Tensor, " T"]:
    """Return the place of each packed token in its prefix, from 0: 0..L for BOS and symbols, 2..L + 1 for the EOS."""
    return torch.cat((torch.arange(length + 1, device=device), torch.arange(2, length + 2, device=device)))


@lru_cache(maxsize=64)
def mask_packed(length: int, device: torch.device) -> Bool[Tensor, "T K"]:
    """Return the attention mask: which of BOS, x1..xL and itself (last column) each packed token sees."""
    token = torch.arange(length + 1, device=device)
    causal = token <= token[:, None]
    symbols = torch.cat((causal, causal.new_zeros(length + 1, 1)), 1)
    readouts = torch.cat((causal[1:], causal.new_ones(length, 1)), 1)
    return torch.cat((symbols, readouts))
