"""The first layer without repeated work: it computes once what all sequences of a batch have in common.

Before the first layer, a token's state depends only on its symbol and its position. With positions 0, 1, 2, ... the
packed rows of *all* sequences of length L consist of the same R = 3L + 1 unique tokens:

    [BOS at 0, symbol 0 at 1..L, symbol 1 at 1..L, EOS at 2..L + 1]

Their embeddings make a table with R rows. The first layer computes queries, keys, values, logits and the output
projection for the table, and then gathers, for each sequence, the rows of its tokens. This is exact: a logit depends on
its query and its key only, so equal pairs have equal logits. After gathering, a second mask hides the keys that the
sequence does not contain, and softmax normalizes over the others.

From the second layer on, tokens differ by what they have attended to, and each sequence is computed separately.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.models.attention import Attention, Block, Causal
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import gather_rows
from synthlab.models.packing import BOS, EOS


@dataclass(frozen=True, kw_only=True)
class TokenTable(Causal):
    """The table as one row of R tokens, whose mask is that of a sequence with both query and key.

    Attributes:
        tokens: The tokens of the table.
        rows: The row of each query of each sequence; None if EOS tokens are the only queries.
        is_present: True for rows of tokens that a sequence has.
    """

    tokens: Int[Tensor, "1 1 R"]
    rows: Int[Tensor, "E B N"] | None
    is_present: Bool[Tensor, "E B R"]

    @classmethod
    def of(cls, x: Int[Tensor, "E B L"], encoding: Encoding, only_readouts: bool) -> "TokenTable":
        """Lay out sequences; their queries are all packed tokens, or the EOS tokens only."""
        length = x.shape[-1]
        tokens, positions = make_token_table(length, x.device).view(2, 1, 1, -1)
        plain = Causal.build(encoding, positions, table_mask(length, x.device))
        rows = None if only_readouts else table_rows(x)
        bias, relative = plain.bias, plain.relative
        return cls(encoding, positions, plain.mask, bias, relative, tokens=tokens, rows=rows, is_present=find_rows(x))

    def attend(
        self, block: Block, h: Float[Tensor, "E 1 R D"]
    ) -> tuple[Float[Tensor, "E b Q D"], Float[Tensor, "E B Q D"]]:
        attended = block.attention(block.pre1(h), self)
        return self.gather(h.squeeze(1)), attended

    def can_fuse(self) -> bool:
        return False  # each sequence has its own rows

    def by_text(self, logits: Float[Tensor, "E 1 H R R"], attention: Attention) -> Float[Tensor, "E B Q H R"]:
        logits = self.gather(logits.squeeze(1).transpose(1, 2))  # E b Q H R: logits of each query with all rows
        return attention.mask(logits, self.is_present[:, :, None, None])

    def project_output(
        self, weights: Float[Tensor, "E B Q H R"], v: Float[Tensor, "E 1 H R d"], attention: Attention
    ) -> Float[Tensor, "E B Q D"]:
        return attention.output.of_sums(weights, v.squeeze(1).contiguous())

    def gather(self, table: Float[Tensor, "E R *F"]) -> Float[Tensor, "E b Q *F"]:
        """Gather the rows of each sequence's queries; EOS tokens are the last L rows of all sequences (b is then 1)."""
        return table[:, None, -(table.shape[1] // 3) :] if self.rows is None else gather_rows(table, self.rows)

    def products(self, q: Float[Tensor, "E 1 H R p"], k: Float[Tensor, "E 1 H R p"]) -> Float[Tensor, "E 1 H R R"]:
        products = q.squeeze(1).contiguous() @ k.squeeze(1).contiguous().mT
        if products.requires_grad:
            # Without this, an ensemble of one keeps a transposed layout in its gradients and rounds differently.
            products.register_hook(torch.Tensor.contiguous)
        return products.unsqueeze(1)

    def count_keys(self) -> Int[Tensor, "R 1"]:
        """Count the keys that each row sees in a sequence: BOS, all symbols before it, and itself."""
        return self.positions.view(-1, 1) + 1


@lru_cache(maxsize=64)
def make_token_table(length: int, device: torch.device) -> Int[Tensor, "2 R"]:
    """Return the tokens of the table, and their positions."""
    places = torch.arange(1, length + 1, device=device)
    symbols = [places.new_full((count,), token) for count, token in ((1, BOS), (length, 0), (length, 1), (length, EOS))]
    return torch.stack((torch.cat(symbols), torch.cat((places.new_zeros(1), places, places, places + 1))))


@lru_cache(maxsize=64)
def table_mask(length: int, device: torch.device) -> Bool[Tensor, "R R"]:
    """Return the causal mask of the table: each row sees itself and the rows of smaller positions, but no other EOS."""
    tokens, positions = make_token_table(length, device)
    before = (positions < positions[:, None]) & (tokens != EOS)
    return before | torch.eye(len(tokens), dtype=torch.bool, device=device)


def table_rows(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """Return the table row of each packed token."""
    length = x.shape[-1]
    symbols = 1 + length * x + torch.arange(length, device=x.device)
    eos = torch.arange(2 * length + 1, 3 * length + 1, device=x.device).expand(x.shape)
    return torch.cat((x.new_zeros(*x.shape[:-1], 1), symbols, eos), -1)


def find_rows(x: Int[Tensor, "*B L"]) -> Bool[Tensor, "*B R"]:
    """Return which rows of the table each sequence contains: BOS, one symbol for each position, all EOS."""
    one = x.bool()
    always = torch.ones_like(one)
    return torch.cat((always[..., :1], ~one, one, always), -1)
