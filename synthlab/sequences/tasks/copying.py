"""Tasks that repeat what they read: copy, reverse, sort, selective copy, count."""

from math import comb, perm

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.problem import bounded, integers, places, ranks

MOST = 10_000  # symbols of a task


class Copy(AnswerTask):
    """The prompt again; its symbols are independent and uniform, and so repeat."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: copy, repeated"

    def __init__(self, symbols: int):
        self.symbols = numbered(bounded("symbols", symbols, 1, MOST))

    def sizes(self, length: int) -> tuple[int, int]:
        return length, length

    def prompts(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B P"]:
        """Draw the symbols of prompts, padded behind."""
        return torch.randint(len(self.symbols), (len(lengths), int(lengths.max())), generator=generator)

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        """The answers to prompts of ``lengths``, of as many symbols."""
        return prompt

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = self.prompts(lengths, generator)
        return Pairs(prompt, lengths, self.answer(prompt, lengths), lengths)

    def chance(self, length: int) -> float:
        return float(len(self.symbols)) ** -length


class Reverse(Copy):
    """The prompt backwards."""

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, section 3"
    departs = "symbols are tokens; there the prompt is text"

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        return backwards(prompt, lengths)


class CopyDistinct(Copy):
    """The prompt again; its symbols are all different, every choice and order equally likely."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: copy, unique"

    @property
    def longest(self) -> int | float:
        return len(self.symbols)

    def prompts(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B P"]:
        return distinct(len(lengths), int(lengths.max()), len(self.symbols), generator)

    def chance(self, length: int) -> float:
        return 1 / perm(len(self.symbols), length)


class Sort(CopyDistinct):
    """Different numbers, in increasing order."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5"

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        return in_order(prompt, lengths, len(self.symbols))

    def chance(self, length: int) -> float:
        return 1 / comb(len(self.symbols), length)


class SelectiveCopy(AnswerTask):
    """The ``items`` symbols of a prompt whose other tokens are blank, in order; their places are a random subset."""

    source = "Gu and Dao, 2023, arXiv 2312.00752, section 3.1"
    departs = "lengths vary"

    def __init__(self, symbols: int, items: int):
        self.count, self.items = bounded("symbols", symbols, 1, MOST), bounded("items", items, 1, MOST)
        self.symbols = (*numbered(symbols), "_")

    @property
    def shortest(self) -> int:
        return self.items

    def sizes(self, length: int) -> tuple[int, int]:
        return length, self.items

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        chosen = ranks(lengths, int(lengths.max()), generator) < self.items
        answer = torch.randint(self.count, (len(lengths), self.items), generator=generator)
        order = (chosen.cumsum(1) - 1).clamp(min=0)
        prompt = answer.gather(1, order).masked_fill(~chosen, self.count)
        return Pairs(prompt, lengths, answer, torch.full_like(lengths, self.items))

    def chance(self, length: int) -> float:
        return float(self.count) ** -self.items


class Count(AnswerTask):
    """All numbers from the first of the prompt to the second, which is ``length`` - 1 larger."""

    source = "Zhou et al., 2023, arXiv 2310.16028, section 5"
    departs = "the prompt of two numbers is as long for all; the length is that of the answer"

    def __init__(self, symbols: int):
        self.symbols = numbered(bounded("symbols", symbols, 1, MOST))

    @property
    def longest(self) -> int | float:
        return len(self.symbols)

    def sizes(self, length: int) -> tuple[int, int]:
        return 2, length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        first = integers(len(self.symbols) + 1 - lengths, generator)
        prompt = torch.stack((first, first + lengths - 1), 1)
        answer = first[:, None] + torch.arange(int(lengths.max()))
        return Pairs(prompt, torch.full_like(lengths, 2), answer, lengths)

    def chance(self, length: int) -> float:
        return 1 / (len(self.symbols) + 1 - length)


def backwards(symbols: Int[Tensor, "B W"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B W"]:
    """The first ``lengths`` of each row's symbols, the last one first; anything behind."""
    order = lengths[:, None] - 1 - torch.arange(symbols.shape[1])
    return symbols.gather(1, order.clamp(min=0))


def in_order(numbers: Int[Tensor, "B W"], lengths: Int[Tensor, " B"], above: int) -> Int[Tensor, "B W"]:
    """The first ``lengths`` of each row's numbers, which are below ``above``, in increasing order; then ``above``."""
    return numbers.masked_fill(~places(lengths, numbers.shape[1]), above).sort(1).values


def distinct(rows: int, size: int, count: int, generator: torch.Generator) -> Int[Tensor, "rows size"]:
    """Different numbers out of 0, ..., ``count`` - 1, every choice and order equally likely."""
    keys = torch.rand(rows, count, generator=generator)
    # Of many numbers, a few are found faster than all are sorted.
    return keys.topk(size, 1).indices if size < count // 4 else keys.argsort(1)[:, :size]


def numbered(count: int) -> tuple[str, ...]:
    """The symbols 0, 1, ... in writing."""
    return tuple(map(str, range(count)))
