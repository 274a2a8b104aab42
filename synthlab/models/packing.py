"""The packed layout: every prefix of a sequence as an example of one row.

Under a causal mask the tokens of a prefix never see what follows, so the prefixes of x1..xL can share a row
``[BOS, x1..xL, EOS x L]``. The k-th EOS stands at position k + 1, sees BOS, x1..xk and itself, and reads out the prefix
of length k: exactly what ``[BOS, x1..xk, EOS]`` would give alone. Each sequence then yields one example of every length
for 2L + 1 tokens.

Keys and values come only from the first P = L + 1 tokens and from the token itself, so what a token attends to is a
table of K = P + 1 columns: BOS, x1..xL, and "itself".

Where positions are those of the layout, all sequences of a length are made of the same R = 3L + 1 distinct tokens, the
menu: ``[BOS, 0 at 1..L, 1 at 1..L, EOS at 2..L + 1]``.
"""

from functools import lru_cache

import torch
from jaxtyping import Bool, Int
from torch import Tensor

BOS, EOS = 2, 3
VOCABULARY = 4  # the symbols 0 and 1, BOS, EOS


def pack(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """``[BOS, x1..xL, EOS x L]`` for each row; T = 2L + 1."""
    bos = x.new_full((*x.shape[:-1], 1), BOS)
    return torch.cat((bos, x, torch.full_like(x, EOS)), -1)


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


@lru_cache(maxsize=64)
def menu(length: int, device: torch.device) -> Int[Tensor, "2 R"]:
    """The menu's tokens, and their positions."""
    places = torch.arange(1, length + 1)
    tokens = torch.tensor([BOS] + [0] * length + [1] * length + [EOS] * length)
    return torch.stack((tokens, torch.cat((torch.zeros(1, dtype=torch.long), places, places, places + 1)))).to(device)


@lru_cache(maxsize=64)
def menu_visible(length: int, device: torch.device) -> Bool[Tensor, "R R"]:
    """Which of the menu each of its tokens sees, if the sequence holds it: what stands before, and itself. No token
    but itself sees an EOS."""
    tokens, positions = menu(length, torch.device("cpu"))
    before = (positions < positions[:, None]) & (tokens != EOS)
    return (before | torch.eye(len(tokens), dtype=torch.bool)).to(device)


def choices(x: Int[Tensor, "*B L"]) -> Int[Tensor, "*B T"]:
    """Where on the menu each packed token stands."""
    length = x.shape[-1]
    symbols = 1 + length * x + torch.arange(length, device=x.device)
    eos = torch.arange(2 * length + 1, 3 * length + 1, device=x.device).expand(x.shape)
    return torch.cat((x.new_zeros(*x.shape[:-1], 1), symbols, eos), -1)


def present(x: Int[Tensor, "*B L"]) -> Bool[Tensor, "*B R"]:
    """Which of the menu each sequence holds."""
    one = x.bool()
    always = torch.ones_like(one)
    return torch.cat((always[..., :1], ~one, one, always), -1)
