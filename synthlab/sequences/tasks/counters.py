"""Formal languages that no finite automaton recognizes: Dyck's, shuffles of it, and a^n b^n c^n ..."""

from functools import lru_cache
from itertools import accumulate
from math import comb

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.formal_languages import FormalLanguage, Strings
from synthlab.sequences.task import check_bounds, places, ranks

BRACKETS = "()[]{}<>"


class Dyck(FormalLanguage):
    """Brackets of several ``kinds``, each of which is well nested if the others are ignored.

    One kind gives Dyck-1, two give Shuffle-2. Strings are uniform among those of a length, which is even.
    """

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: Dyck-1, Shuffle-2"
    departs = "strings are uniform among those of a length"
    shortest = 2

    def __init__(self, kinds: int):
        self.kinds = check_bounds("kinds", kinds, 1, len(BRACKETS) // 2)
        self.symbols = tuple(BRACKETS[: 2 * kinds])

    def has(self, length: int) -> bool:
        return super().has(length) and length % 2 == 0

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        longest, left = int(lengths.max()), lengths // 2  # pairs that remain to be drawn
        symbols, order = torch.zeros(len(lengths), longest, dtype=torch.long), ranks(lengths, longest, generator)
        for kind in range(self.kinds):
            pairs = _first_kind(left, self.kinds - kind, generator)
            held = (order >= 0) & (order < 2 * pairs[:, None])  # a random subset of the free places
            word = words(pairs, generator).gather(1, (held.cumsum(1) - 1).clamp(min=0))
            symbols = symbols.where(~held, 2 * kind + word)
            left, order = left - pairs, order - 2 * pairs[:, None]
        return symbols, self._sets(symbols)

    def _sets(self, symbols: Int[Tensor, "B L"]) -> Bool[Tensor, "B K C"]:
        change = F.one_hot(symbols // 2, self.kinds) * (1 - 2 * (symbols % 2))[..., None]
        open_ = F.pad(change.cumsum(1), (0, 0, 1, 0)) > 0  # True if there is a bracket of each kind to close
        brackets = torch.stack((torch.ones_like(open_), open_), 3).flatten(2)
        return torch.cat((brackets, ~open_.any(2, keepdim=True)), 2)

    def chance(self, length: int) -> float:
        return 0.0  # no constant set is right: only after the first bracket is there one to close


class AnBn(FormalLanguage):
    """a^n b^n, a^n b^n c^n and so on, with ``letters`` letters and n of 1 or more.

    Lengths are multiples of ``letters``.
    """

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: AnBn, AnBnCn, AnBnCnDn"

    def __init__(self, letters: int):
        self.symbols = tuple("abcdefghijklmnopqrstuvwxyz"[: check_bounds("letters", letters, 2, 26)])
        self.shortest = letters

    def has(self, length: int) -> bool:
        return super().has(length) and length % len(self.symbols) == 0

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        seen, count = torch.arange(int(lengths.max()) + 1), len(self.symbols)
        each = (lengths // count)[:, None]
        following = (seen // each).clamp(max=count)  # the letter after that many symbols; after all of them the end
        sets = F.one_hot(following, count + 1).bool()
        # Within the a's, the number of a's is still unknown.
        sets[..., :2] |= ((seen > 0) & (seen <= each))[..., None]
        return following[:, :-1].clamp(max=count - 1), sets

    def chance(self, length: int) -> float:
        return 0.0  # no constant set is right: only after the first a may there be a b


def words(pairs: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B W"]:
    """Draw well nested brackets, with ``pairs`` pairs in each row, all equally likely: 0 opens, 1 closes.

    What follows them in a row is arbitrary. By the cycle lemma (Dvoretzky and Motzkin, 1947), exactly one of the
    rotations of n + 1 steps up and n down stays above its beginning. Its first step goes up; the others are the
    brackets.
    """
    sizes = 2 * pairs + 1
    ups = ranks(sizes, int(sizes.max()), generator) <= pairs[:, None]
    steps = torch.where(ups, 1, -1)
    before = (steps.cumsum(1) - steps).where(places(sizes, ups.shape[1]), ups.shape[1])  # heights before each step
    lowest = ups.shape[1] - 1 - before.flip(1).argmin(1)  # the last of the lowest points, where that rotation begins
    order = (lowest[:, None] + 1 + torch.arange(ups.shape[1])) % sizes[:, None]
    return (~ups).long().gather(1, order)


def _first_kind(pairs: Int[Tensor, " B"], kinds: int, generator: torch.Generator) -> Int[Tensor, " B"]:
    """Draw how many of ``pairs`` pairs of ``kinds`` kinds are of the first kind."""
    if kinds == 1:
        return pairs
    # Round the table's size up, so that few tables are made.
    table = _cumulative(kinds, 1 << int(pairs.max()).bit_length())
    shares = torch.rand(len(pairs), 1, generator=generator, dtype=torch.float64)
    return (shares >= table[pairs]).sum(1)


@lru_cache(maxsize=16)
def _cumulative(kinds: int, most: int) -> Float[Tensor, "M M"]:
    """Return, among strings of m pairs, the share with at most k of the first kind.

    Both m and k are 0, ..., ``most``.
    """
    catalan = [comb(2 * pairs, pairs) // (pairs + 1) for pairs in range(most + 1)]
    number, ways = catalan, [[1]]  # the number of strings of m pairs; of those with k pairs of the first kind
    for _ in range(kinds - 1):
        ways = [[comb(2 * m, 2 * k) * catalan[k] * number[m - k] for k in range(m + 1)] for m in range(most + 1)]
        number = [sum(each) for each in ways]
    table = torch.ones(most + 1, most + 1, dtype=torch.float64)
    for m, each in enumerate(ways):
        table[m, : m + 1] = torch.tensor([count / number[m] for count in accumulate(each)], dtype=torch.float64)
    return table
