"""The packed layout: every prefix of a sequence as an example of one row.

Under a causal mask the tokens of a prefix never see what follows, so the prefixes of x1..xL can share a row
``[BOS, x1..xL, EOS x L]``. The k-th EOS stands at position k + 1, sees BOS, x1..xk and itself, and reads out the prefix
of length k: exactly what ``[BOS, x1..xk, EOS]`` would give alone. Each sequence then yields one example of every length
for 2L + 1 tokens.

Keys and values come only from the first P = L + 1 tokens and from the token itself, so what a token attends to is a
table of K = P + 1 columns: BOS, x1..xL, and "itself".
"""

from functools import lru_cache

import torch
from jaxtyping import Bool, Int
from torch import Tensor

BOS, EOS = 2, 3
VOCABULARY = 4  # the symbols 0 and 1, BOS, EOS


def pack(x: Int[Tensor, "B L"]) -> Int[Tensor, "B T"]:
    """``[BOS, x1..xL, EOS x L]`` for each row; T = 2L + 1."""
    bos = x.new_full((len(x), 1), BOS)
    return torch.cat((bos, x, torch.full_like(x, EOS)), 1)


@lru_cache(maxsize=64)
def ranks(length: int, device: torch.device) -> Int[Tensor, " T"]:
    """Where each packed token stands in its prefix, from 0 for BOS: 0..L, then 2..L + 1 for the EOS."""
    return torch.cat((torch.arange(length + 1), torch.arange(2, length + 2))).to(device)


@lru_cache(maxsize=64)
def visible(length: int, device: torch.device) -> Bool[Tensor, "T K"]:
    """Which of BOS, x1..xL and itself (last column) each packed token sees."""
    token = torch.arange(length + 1)
    causal = token <= token[:, None]
    symbols = torch.cat((causal, torch.zeros(length + 1, 1, dtype=torch.bool)), 1)  # "itself" is among the keys
    readouts = torch.cat((causal[1:], torch.ones(length, 1, dtype=torch.bool)), 1)
    return torch.cat((symbols, readouts)).to(device)
