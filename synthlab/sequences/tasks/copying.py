"""Tasks that repeat their input: copy and its variants, reverse, sort, selective copy, count."""

from math import comb, factorial, perm, prod
from typing import Annotated, Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from synthlab.sequences.task import AnswerTask, Pairs, draw_integers, draw_ranks, hide_rest, mask_lengths, push_left

MAX_SYMBOLS = 10_000  # the most symbols of a task
Number = Annotated[int, Field(ge=1, le=MAX_SYMBOLS)]
Several = Annotated[int, Field(ge=2, le=MAX_SYMBOLS)]
Order = Literal["forwards", "backwards"]


class Copy(AnswerTask):
    """The prompt again; its symbols are independent and uniform, and so repeat."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: copy, repeated"

    def __init__(self, symbols: Number):
        self.symbols = number_symbols(symbols)

    def sizes(self, length: int) -> tuple[int, int]:
        return length, length

    def prompts(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B P"]:
        """Draw the symbols of prompts, right-padded."""
        return torch.randint(len(self.symbols), (len(lengths), int(lengths.max())), generator=generator)

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        """Return the answers to prompts of ``lengths``, which have equally many symbols."""
        return prompt

    def couple(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B T"] | None:
        """Return k for the k-th symbol of the prompt and for that of the answer, 0 for the separator."""
        return torch.arange(tokens.shape[-1]) % self._separators(tokens)

    def _separators(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B 1"]:
        """Return the column of the separator; T where there is none."""
        return ((tokens == self.separator).cumsum(-1) == 0).sum(-1, keepdim=True)

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
        return reverse(prompt, lengths)

    def couple(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B T"] | None:
        """Return k for the k-th symbol of the prompt and for the same in the answer, n + 1 for the separator."""
        separator = self._separators(tokens)
        return separator - (torch.arange(tokens.shape[-1]) - separator).abs()


class CopyDistinct(Copy):
    """The prompt again; its symbols are all different, every choice and order equally likely."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: copy, unique"

    def __init__(self, symbols: Number):
        super().__init__(symbols)
        self.longest = symbols

    def prompts(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B P"]:
        return draw_distinct(len(lengths), int(lengths.max()), len(self.symbols), generator)

    def chance(self, length: int) -> float:
        return 1 / perm(len(self.symbols), length)


class Sort(CopyDistinct):
    """Different numbers, in increasing order."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5"

    couple = AnswerTask.couple  # its answer has another order

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        return sort_numbers(prompt, lengths, len(self.symbols))

    def chance(self, length: int) -> float:
        return 1 / comb(len(self.symbols), length)


class SelectiveCopy(AnswerTask):
    """The ``items`` symbols of a prompt whose other tokens are blank, in order; their places are a random subset."""

    source = "Gu and Dao, 2023, arXiv 2312.00752, section 3.1"
    departs = "lengths vary"

    def __init__(self, symbols: Number, items: Number):
        self.count, self.items = symbols, items
        self.symbols, self.shortest = (*number_symbols(symbols), "_"), items

    def sizes(self, length: int) -> tuple[int, int]:
        return length, self.items

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        chosen = draw_ranks(lengths, int(lengths.max()), generator) < self.items
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

    def __init__(self, symbols: Number):
        self.symbols, self.longest = number_symbols(symbols), symbols

    def sizes(self, length: int) -> tuple[int, int]:
        return 2, length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        first = draw_integers(len(self.symbols) + 1 - lengths, generator)
        prompt = torch.stack((first, first + lengths - 1), 1)
        answer = first[:, None] + torch.arange(int(lengths.max()))
        return Pairs(prompt, torch.full_like(lengths, 2), answer, lengths)

    def chance(self, length: int) -> float:
        return 1 / (len(self.symbols) + 1 - length)


class OddsFirst(Copy):
    """The symbols at odd places, the first, third, fifth, ..., then those at even places.

    They are independent and uniform.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: odds first"
    departs = "as the authors write it; their code has the symbols at even places first"

    couple = AnswerTask.couple  # its answer has another order

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        place, odds = torch.arange(prompt.shape[1]), (lengths[:, None] + 1) // 2
        order = torch.where(place < odds, 2 * place, 2 * (place - odds) + 1)
        return prompt.gather(1, order.clamp(max=prompt.shape[1] - 1))


class BucketSort(Copy):
    """The symbols in increasing order. They are independent and uniform, and so repeat."""

    source = "Delétang et al., 2022, arXiv 2207.02098: bucket sort"

    couple = AnswerTask.couple  # its answer has another order

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        return sort_numbers(prompt, lengths, len(self.symbols))

    def chance(self, length: int) -> float:
        """Return the probability of an answer in which all symbols are (nearly) equally frequent: the likeliest one."""
        count = len(self.symbols)
        often = [length // count + (symbol < length % count) for symbol in range(count)]
        return factorial(length) // prod(map(factorial, often)) / count**length


class Repeat(AnswerTask):
    """One symbol, uniform, ``length`` times; the answer has it ``times`` as often.

    The authors' rsc has ``times`` 1, their rsc2x 2.
    """

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, and the authors' code: copy, variants rsc and rsc2x"
    departs = "symbols are tokens; there the prompt is text"

    def __init__(self, symbols: Number, times: Annotated[int, Field(ge=1, le=100)]):
        self.symbols, self.times = number_symbols(symbols), times

    def sizes(self, length: int) -> tuple[int, int]:
        return length, self.times * length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        symbol = torch.randint(len(self.symbols), (len(lengths), 1), generator=generator)
        prompt, answer = (symbol.expand(-1, size) for size in self.sizes(int(lengths.max())))
        return Pairs(prompt, lengths, answer, self.times * lengths)

    def chance(self, length: int) -> float:
        return 1 / len(self.symbols)


class Replace(AnswerTask):
    """Two different symbols, uniform, and then the first of them ``length`` times; the answer is the second as often.

    This is the authors' variant rdc.
    """

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, and the authors' code: copy, variant rdc"
    departs = "symbols are tokens; there the prompt is text: replace a with b in a a a"

    def __init__(self, symbols: Several):
        self.symbols = number_symbols(symbols)

    def sizes(self, length: int) -> tuple[int, int]:
        return length + 2, length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        pair = draw_distinct(len(lengths), 2, len(self.symbols), generator)
        first, second = pair[:, :1], pair[:, 1:]
        longest = int(lengths.max())
        prompt = torch.cat((pair, first.expand(-1, longest)), 1)
        return Pairs(prompt, lengths + 2, second.expand(-1, longest), lengths)

    def chance(self, length: int) -> float:
        return 1 / len(self.symbols)


class CopyTwice(AnswerTask):
    """The prompt twice, each time forwards or backwards; ``between`` puts a token between the two.

    Symbols are independent and uniform.

    Duplicate string of Delétang et al. is twice forwards, without the token. Of Kazemnejad et al., with the token,
    cmc2x is twice forwards, mc2x twice backwards, mcrv backwards and then forwards.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: duplicate string; Kazemnejad et al., 2023, arXiv 2305.19466"
    departs = "from Kazemnejad et al.: symbols are tokens; there the prompt is text"

    def __init__(self, symbols: Number, first: Order, second: Order, between: bool):
        self.count, self.orders, self.between = symbols, (first, second), between
        self.symbols = (*number_symbols(symbols), *(["next"] if between else []))

    def sizes(self, length: int) -> tuple[int, int]:
        return length, 2 * length + self.between

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(self.count, (len(lengths), int(lengths.max())), generator=generator)
        turned = {"forwards": prompt, "backwards": reverse(prompt, lengths)}
        first, second = (hide_rest(turned[order], lengths) for order in self.orders)
        between = torch.full((len(lengths), int(self.between)), self.count)
        return Pairs(prompt, lengths, *push_left(torch.cat((first, between, second), 1)))

    def chance(self, length: int) -> float:
        return float(self.count) ** -length


def reverse(symbols: Int[Tensor, "B W"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B W"]:
    """Return the first ``lengths`` symbols of each row in reverse order; the rest is arbitrary."""
    order = lengths[:, None] - 1 - torch.arange(symbols.shape[1])
    return symbols.gather(1, order.clamp(min=0))


def sort_numbers(numbers: Int[Tensor, "B W"], lengths: Int[Tensor, " B"], above: int) -> Int[Tensor, "B W"]:
    """Return the first ``lengths`` numbers of each row, all below ``above``, in increasing order; then ``above``."""
    return numbers.masked_fill(~mask_lengths(lengths, numbers.shape[1]), above).sort(1).values


def draw_distinct(rows: int, size: int, count: int, generator: torch.Generator) -> Int[Tensor, "rows size"]:
    """Draw different numbers out of 0, ..., ``count`` - 1; every choice and order is equally likely."""
    keys = torch.rand(rows, count, generator=generator)
    # To draw a few of many numbers, selection is faster than sorting.
    return keys.topk(size, 1).indices if size < count // 4 else keys.argsort(1)[:, :size]


def number_symbols(count: int) -> tuple[str, ...]:
    """Return the symbols 0, 1, ... as text."""
    return tuple(map(str, range(count)))
