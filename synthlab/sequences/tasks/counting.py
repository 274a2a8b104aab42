"""Tasks with one answer for a whole prompt, by counting or comparing.

These are majority, mode, parity, sums, sorted or not, even pairs, cycle navigation.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from synthlab.sequences.task import AnswerTask, Pairs, draw_integers, draw_ranks, mask_lengths
from synthlab.sequences.tasks.copying import Number, Several, draw_distinct, number_symbols, sort_numbers

BITS = ("0", "1")
Modulus = Annotated[int, Field(ge=2, le=100)]


def ones_drawn(lengths: Int[Tensor, " B"], generator: torch.Generator, ties: bool) -> Int[Tensor, " B"]:
    """Draw numbers of ones, uniform on 0, ..., n for each n of ``lengths``; without ``ties`` any but n / 2."""
    if ties:
        return draw_integers(lengths + 1, generator)
    even = 1 - lengths % 2
    ones = draw_integers(lengths + 1 - even, generator)
    return ones + even * (2 * ones >= lengths)


def bits_with(ones: Int[Tensor, " B"], lengths: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B P"]:
    """Draw bits with ``ones`` ones, every arrangement equally likely, padded with zeros after the first ``lengths``."""
    return (draw_ranks(lengths, int(lengths.max()), generator) < ones[:, None]).long()


def likeliest_sum(steps: Sequence[int], modulus: int, length: int) -> float:
    """Return the probability of the likeliest sum, modulo ``modulus``, of ``length`` uniform draws from ``steps``."""
    # Transition probabilities between sums.
    every, moves = torch.arange(modulus), torch.zeros(modulus, modulus, dtype=torch.float64)
    for step in steps:
        moves[every, (every + step) % modulus] += 1 / len(steps)
    return torch.linalg.matrix_power(moves, length)[0].max().item()


class OneAnswer(AnswerTask):
    """A task whose answer is one symbol; by default one of two that are equally likely."""

    def sizes(self, length: int) -> tuple[int, int]:
        return length, 1

    def chance(self, length: int) -> float:
        return 0.5

    def make_pairs(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"], answer: Tensor) -> Pairs:
        """Return prompts with their answers of one symbol."""
        return Pairs(prompt, lengths, answer.long()[:, None], torch.ones_like(lengths))


class Majority(OneAnswer):
    """The more frequent bit. The number of ones is uniform on 0, ..., n, without n / 2."""

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: binary majority"
    symbols = BITS

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        ones = ones_drawn(lengths, generator, ties=False)
        return self.make_pairs(bits_with(ones, lengths, generator), lengths, 2 * ones > lengths)


class InterleavedMajority(AnswerTask):
    """The majorities of several binary strings, the strands, that are interleaved in the prompt.

    The i-th symbol belongs to strand i modulo their number. Each strand is drawn as for ``Majority``.
    """

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: binary majority interleave"
    departs = "all lengths are there; the authors' code has multiples of the number of strands, so that all are as long"
    symbols = BITS

    def __init__(self, strands: Number):
        self.strands = self.shortest = strands

    def sizes(self, length: int) -> tuple[int, int]:
        return length, self.strands

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        # The length of each strand.
        own = (lengths[:, None] + self.strands - 1 - torch.arange(self.strands)) // self.strands
        flat = own.flatten()
        ones = ones_drawn(flat, generator, ties=False)
        bits = bits_with(ones, flat, generator).unflatten(0, (len(lengths), self.strands))
        prompt = bits.mT.flatten(1)[:, : int(lengths.max())]
        answer = (2 * ones > flat).long().view(len(lengths), self.strands)
        return Pairs(prompt, lengths, answer, torch.full_like(lengths, self.strands))

    def chance(self, length: int) -> float:
        return 0.5**self.strands


class Mode(OneAnswer):
    """The most frequent symbol: majority of many letters.

    Prompts are uniform among those where one symbol is more frequent than any other.
    """

    source = "Huang et al., 2025, arXiv 2410.02140, section 5: majority; Zhou et al., 2023, arXiv 2310.16028: mode"

    def __init__(self, symbols: Annotated[int, Field(ge=1, le=1000)]):
        self.symbols = number_symbols(symbols)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.long)
        answer, left = torch.zeros_like(lengths), torch.arange(len(lengths))
        while len(left):  # prompts without a single mode are drawn again
            drawn = torch.randint(len(self.symbols), (len(left), prompt.shape[1]), generator=generator)
            counts = torch.zeros(len(left), len(self.symbols) + 1, dtype=torch.long)
            held = mask_lengths(lengths[left], prompt.shape[1])
            counts.scatter_add_(1, drawn, held.long())
            most = counts.topk(2, 1)
            single = most.values[:, 0] > most.values[:, 1]
            prompt[left[single]], answer[left[single]] = drawn[single], most.indices[single, 0]
            left = left[~single]
        return self.make_pairs(prompt, lengths, answer)

    def chance(self, length: int) -> float:
        return 1 / len(self.symbols)


class Parity(OneAnswer):
    """Whether the number of ones is odd.

    ``uniform`` says what is uniform: the number of ``ones``, on 0, ..., n, as in Huang et al.; or each of the ``bits``,
    as in parity check of Delétang et al.
    """

    source = "Huang et al., 2025, arXiv 2410.02140, section 5; Delétang et al., 2022, arXiv 2207.02098: parity check"
    symbols = BITS

    def __init__(self, uniform: Literal["ones", "bits"]):
        self.uniform = uniform

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        if self.uniform == "ones":
            ones = ones_drawn(lengths, generator, ties=True)
            return self.make_pairs(bits_with(ones, lengths, generator), lengths, ones % 2)
        longest = int(lengths.max())
        bits = torch.randint(2, (len(lengths), longest), generator=generator)
        return self.make_pairs(bits, lengths, (bits * mask_lengths(lengths, longest)).sum(1) % 2)

    def chance(self, length: int) -> float:
        return (length // 2 + 1) / (length + 1) if self.uniform == "ones" else 0.5


class Summation(OneAnswer):
    """The sum of the numbers, modulo ``modulus``. They are independent and uniform on 1, ..., ``modulus`` - 1."""

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, and the authors' code: summation"
    departs = "numbers are tokens without signs between; there the prompt is text"

    def __init__(self, modulus: Modulus):
        self.symbols = number_symbols(modulus)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        modulus, longest = len(self.symbols), int(lengths.max())
        prompt = 1 + torch.randint(modulus - 1, (len(lengths), longest), generator=generator)
        return self.make_pairs(prompt, lengths, (prompt * mask_lengths(lengths, longest)).sum(1) % modulus)

    def chance(self, length: int) -> float:
        return likeliest_sum(range(1, len(self.symbols)), len(self.symbols), length)


class SortedOrNot(OneAnswer):
    """Whether different numbers are in increasing order: 1 for half of the prompts, and 0 for the others.

    In those, two of the sorted numbers, at any two places, are swapped.
    """

    source = "a homework task of classes on Transformers"
    shortest = 2

    def __init__(self, symbols: Several):
        self.symbols, self.longest = number_symbols(symbols), symbols

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        numbers = draw_distinct(rows, longest, len(self.symbols), generator)
        ordered = sort_numbers(numbers, lengths, len(self.symbols))
        is_sorted: Bool[Tensor, " B"] = torch.rand(rows, generator=generator) < 0.5
        first = draw_integers(lengths, generator)
        second = (first + 1 + draw_integers(lengths - 1, generator)) % lengths
        pair = torch.stack((first, second), 1)
        taken = pair.where(is_sorted[:, None], pair.flip(1))
        return self.make_pairs(ordered.scatter(1, pair, ordered.gather(1, taken)), lengths, is_sorted)


class EvenPairs(OneAnswer):
    """Whether the number of neighbours that differ, 01 or 10, is odd.

    That is whether the first bit differs from the last. Bits are independent and uniform.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: even pairs"
    symbols = BITS

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(2, (len(lengths), int(lengths.max())), generator=generator)
        last = prompt.gather(1, lengths[:, None] - 1)[:, 0]
        return self.make_pairs(prompt, lengths, prompt[:, 0] != last)

    def chance(self, length: int) -> float:
        return 1.0 if length == 1 else 0.5


class CycleNavigation(OneAnswer):
    """The end of a walk from 0 on a ring of ``positions``.

    Each symbol is a step to the left (l), no step (s) or a step to the right (r), independent and uniform.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: cycle navigation"

    def __init__(self, positions: Modulus):
        self.positions = positions
        self.symbols = ("l", "s", "r", *number_symbols(positions))

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(3, (len(lengths), int(lengths.max())), generator=generator)
        walked = (prompt - 1).where(mask_lengths(lengths, prompt.shape[1]), 0).sum(1)
        return self.make_pairs(prompt, lengths, 3 + walked % self.positions)

    def chance(self, length: int) -> float:
        return likeliest_sum((-1, 0, 1), self.positions, length)
