"""Patterns of sparse attention, by hand and against direct implementations that roll, group and cut q, k and v."""

import math
from itertools import pairwise

import pytest
import torch

from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS

HEADS, HEAD = 4, 3
SIZES = [(16, 4), (8, 2), (24, 3), (8, 4), (8, 1)]  # tokens and groups


def seen(name: str, length: int, groups: int, head: int = -1) -> list[list[int]]:
    """Which keys each query of a head sees."""
    mask = PATTERNS.build({"name": name, "groups": groups}).mask(HEADS, length)[head]
    return [row.nonzero().flatten().tolist() for row in mask]


def vectors(length: int) -> torch.Tensor:
    """Queries, keys and values [3, HEADS, length, HEAD]."""
    return torch.randn(3, HEADS, length, HEAD, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return ((q @ k.mT) / math.sqrt(HEAD)).masked_fill(~mask, -math.inf).softmax(-1) @ v


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return masked(q, k, v, torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril())


def grouped(qkv: torch.Tensor, size: int) -> torch.Tensor:
    return causal(*qkv.unflatten(2, (-1, size))).flatten(1, 2)


def direct(name: str, length: int, groups: int) -> torch.Tensor:
    """The answers of all heads as LongLoRA's two functions compute them."""
    qkv, size = vectors(length), length // groups
    plain, other = grouped(qkv[:, : HEADS // 2], size), qkv[:, HEADS // 2 :]
    if name == "rolled":
        return torch.cat((plain, grouped(other.roll(-size // 2, 2), size).roll(size // 2, 1)))
    cuts = [0, *range(size // 2, length, size), length]
    parts = [causal(*other[:, :, start:end]) for start, end in pairwise(cuts)]
    return torch.cat((plain, torch.cat(parts, 1)))


def test_groups_by_hand():
    assert seen("shifted", 8, 2, head=0) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [4], [4, 5], [4, 5, 6], [4, 5, 6, 7]]
    # Cut at 2 and 6.
    assert seen("shifted", 8, 2) == [[0], [0, 1], [2], [2, 3], [2, 3, 4], [2, 3, 4, 5], [6], [6, 7]]
    # The last group is 6, 7, 0, 1.
    assert seen("rolled", 8, 2) == [[0, 6, 7], [0, 1, 6, 7], [2], [2, 3], [2, 3, 4], [2, 3, 4, 5], [6], [6, 7]]


@pytest.mark.parametrize(("length", "groups"), SIZES)
@pytest.mark.parametrize("name", ["shifted", "rolled"])
def test_masks_equal_rolled_and_grouped_vectors(name, length, groups):
    mask = PATTERNS.build({"name": name, "groups": groups}).mask(HEADS, length)
    torch.testing.assert_close(masked(*vectors(length), mask), direct(name, length, groups))


def test_full_is_the_causal_mask():
    assert torch.equal(PATTERNS.build({"name": "full"}).mask(2, 5), torch.ones(2, 5, 5, dtype=torch.bool).tril())


@pytest.mark.parametrize(
    ("groups", "heads", "length", "message"),
    [
        (4, 2, 12, "pattern.groups=4: must divide a window of 12 tokens into groups of an even size"),
        (4, 1, 16, "model.heads=1: must be at least 2"),
    ],
)
def test_what_does_not_fit_is_refused(groups, heads, length, message):
    for name in ("shifted", "rolled"):
        with pytest.raises(InputError, match=message):
            PATTERNS.build({"name": name, "groups": groups}).mask(heads, length)
