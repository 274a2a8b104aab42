"""Patterns of sparse attention in training: which keys each head's queries see.

LongLoRA (Chen et al., 2024, arXiv 2309.12307, section 3.2) trains half of the heads within groups of tokens, and the
other half within groups that are shifted by half a group. Its code has two variants, which differ at both ends of the
text: ``Shifted`` and ``Rolled``. Positions, and so rotations, are those of the whole text.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Int
from pydantic import PositiveInt
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.registry import Registry


class Pattern(ABC):
    """The keys that the queries of each head see. The constructor's arguments are the keys of the group ``pattern``.

    Example:
        >>> from synthlab.finetuning.patterns import Shifted
        >>> Shifted(groups=2).mask(heads=2, length=4)[1].int().tolist()  # the shifted head: groups 0, 1 2, 3
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    """

    @abstractmethod
    def mask(self, heads: int, length: int) -> Bool[Tensor, "H T T"]:
        """Return the attention mask of texts: True where a query (row) of a head sees a key (column).

        Raises InputError if the pattern does not fit this number of heads or tokens.
        """


class Full(Pattern):
    """Every head sees all earlier tokens, as in testing."""

    def mask(self, heads, length):
        return _causal(torch.zeros(length, dtype=torch.long), torch.arange(length)).repeat(heads, 1, 1)


class Shifted(Pattern):
    """Shifted sparse attention as LongLoRA's code computes it with flash attention, its default.

    A group has g = T / ``groups`` tokens. The first half of the heads, rounded down, attends within the groups
    0..g - 1, g..2g - 1, ... The others attend within groups that are cut at g/2, 3g/2, ...: the first and the last g/2
    tokens are groups of their own. No token sees a later one.
    """

    def __init__(self, groups: PositiveInt):
        self.groups = groups

    def mask(self, heads, length):
        if heads < 2:
            raise InputError(f"model.heads={heads}: must be at least 2, because a pattern shifts half of the heads")
        if length % (2 * self.groups):
            must = f"must divide a window of {length} tokens into groups of an even size"
            raise InputError(f"pattern.groups={self.groups}: {must}")
        size, place, plain = length // self.groups, torch.arange(length), heads // 2
        shifted = self.mask_shifted(place, size, length).repeat(heads - plain, 1, 1)
        return torch.cat((_causal(place // size, place).repeat(plain, 1, 1), shifted))

    def mask_shifted(self, place: Int[Tensor, " T"], size: int, length: int) -> Bool[Tensor, "T T"]:
        """Return the mask of a shifted head, for groups of ``size`` tokens."""
        return _causal((place + size // 2) // size, place)


class Rolled(Shifted):
    """Shifted sparse attention as LongLoRA's code computes it without flash attention, which leaks future tokens.

    The tokens of a shifted head are rolled by g/2 and then grouped, so that each of the first g/2 tokens sees the last
    g/2 tokens of the text. LongQLoRA runs this variant, since its ``use_flash_attn`` is False by default. In models of
    at least 2 ``groups`` - 1 layers, the target token leaks into its own prediction.
    """

    def mask_shifted(self, place, size, length):
        rolled = (place - size // 2) % length
        return _causal(rolled // size, rolled)


def _causal(group: Int[Tensor, " T"], order: Int[Tensor, " T"]) -> Bool[Tensor, "T T"]:
    """Return True where a key is in the query's group, and not after it in the given order."""
    return (group[:, None] == group) & (order <= order[:, None])


PATTERNS = Registry("pattern", Pattern, {"full": Full, "shifted": Shifted, "rolled": Rolled})
