"""The first layer without repeated work: it computes once what all sequences of a batch have in common.

Before the first layer a token is known by its symbol and its position alone. With positions 0, 1, 2, ... the packed
rows of *all* sequences of length L consist of the same R = 3L + 1 unique tokens:

    [BOS at 0, symbol 0 at 1..L, symbol 1 at 1..L, EOS at 2..L + 1]

Their embeddings make a table with R rows. The first layer computes queries, keys, values, logits and the output
projection for the table, and then gathers, for each sequence, the rows of its tokens. This is exact: a logit depends on
its query and its key only, so equal pairs have equal logits. What depends on the sequence comes after the gathering: a
second mask leaves of the R keys those that the sequence holds, and softmax normalizes over them.

From the second layer on tokens differ by what they have attended to, and every sequence is computed for itself.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import Linear, gather_rows
from synthlab.models.packing import BOS, EOS


class UniqueTokens(NamedTuple):
    """The table of unique tokens as attention takes it: queries and keys are its R rows.

    Attributes:
        positions: The position of each row.
        mask: True where a row sees a key, if the sequence holds both.
        bias: What the position encoding adds to the logits, or None.
        relative: The relative positions that the encoding's ``products`` takes, or None.
        held: True for the rows that a sequence holds.
        rows: The table row of each query of a sequence; None for the EOS tokens only, the last L rows of the table.
    """

    positions: Int[Tensor, "1 1 R"]
    mask: Bool[Tensor, "R R"]
    bias: Float[Tensor, "#E H R R"] | None
    relative: Float[Tensor, "#E 1 R R"] | None
    held: Bool[Tensor, "E B R"]
    rows: Int[Tensor, "E B Q"] | None

    first_query = 0  # all rows of the table are queries

    def gather(self, table: Float[Tensor, "E R *F"]) -> Float[Tensor, "E b Q *F"]:
        """The rows of each sequence's queries; b is 1 where all sequences have the same."""
        if self.rows is None:
            return table[:, None, -(table.shape[1] // 3) :]
        return gather_rows(table, self.rows)

    def queries(self, h: Float[Tensor, "E 1 R D"]) -> Float[Tensor, "E b Q D"]:
        """The residual stream of the queries."""
        return self.gather(h.squeeze(1))

    def keys_seen(self) -> Int[Tensor, "R 1"]:
        """The number of keys that each row sees in a sequence: BOS, all symbols before it, and itself."""
        return self.positions.view(-1, 1) + 1

    def products(self, q: Float[Tensor, "E 1 H R d"], k: Float[Tensor, "E 1 H R d"]) -> Float[Tensor, "E H R R"]:
        """The inner products of all pairs of rows."""
        products = q.squeeze(1).contiguous() @ k.squeeze(1).contiguous().mT
        if products.requires_grad:
            # An ensemble of one would keep a transposed layout in its gradients, and round differently.
            products.register_hook(torch.Tensor.contiguous)
        return products

    def mix(
        self, weights: Float[Tensor, "E B Q H R"], v: Float[Tensor, "E 1 H R d"], output: Linear
    ) -> Float[Tensor, "E B Q D"]:
        """The weighted sum of each query's values, all heads through the ``output`` projection. The projection is
        linear, so it is applied to the R values of each head, before the sum."""
        projections = output.weight.unflatten(1, (weights.shape[3], -1))  # E H d D
        values = v.squeeze(1).contiguous() @ projections  # E H R D
        mixed = torch.baddbmm(output.bias, weights.flatten(-2).flatten(1, 2), values.flatten(1, 2))
        return mixed.unflatten(1, weights.shape[1:3])


def unique_tokens(x: Int[Tensor, "E B L"], encoding: Encoding, only_readouts: bool) -> UniqueTokens:
    """The table of unique tokens, and which of its rows each packed row of ``x`` holds. Queries are the EOS tokens
    (``only_readouts``) or all tokens."""
    positions = table(x.shape[-1], x.device)[1].view(1, 1, -1)
    keys = positions.unsqueeze(-2).expand(1, 1, positions.shape[-1], -1)
    bias, relative = (hook(positions.unsqueeze(-1), keys) for hook in (encoding.bias, encoding.relative))
    return UniqueTokens(
        positions=positions,
        mask=table_mask(x.shape[-1], x.device),
        bias=None if bias is None else bias.squeeze(1),
        relative=None if relative is None else relative.squeeze(1),
        held=held_rows(x),
        rows=None if only_readouts else table_rows(x),
    )


@lru_cache(maxsize=64)
def table(length: int, device: torch.device) -> Int[Tensor, "2 R"]:
    """The tokens of the table, and their positions."""
    places = torch.arange(1, length + 1)
    tokens = torch.tensor([BOS] + [0] * length + [1] * length + [EOS] * length)
    return torch.stack((tokens, torch.cat((torch.zeros(1, dtype=torch.long), places, places, places + 1)))).to(device)


@lru_cache(maxsize=64)
def table_mask(length: int, device: torch.device) -> Bool[Tensor, "R R"]:
    """The causal mask of the table: each row sees itself and the rows of smaller positions, but no other EOS."""
    tokens, positions = table(length, torch.device("cpu"))
    before = (positions < positions[:, None]) & (tokens != EOS)
    return (before | torch.eye(len(tokens), dtype=torch.bool)).to(device)


def table_rows(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """The table row of each packed token."""
    length = x.shape[-1]
    symbols = 1 + length * x + torch.arange(length, device=x.device)
    eos = torch.arange(2 * length + 1, 3 * length + 1, device=x.device).expand(x.shape)
    return torch.cat((x.new_zeros(*x.shape[:-1], 1), symbols, eos), -1)


def held_rows(x: Int[Tensor, "*B L"]) -> Bool[Tensor, "*B R"]:
    """Which rows of the table each sequence holds: BOS, one symbol for each position, all EOS."""
    one = x.bool()
    always = torch.ones_like(one)
    return torch.cat((always[..., :1], ~one, one, always), -1)
