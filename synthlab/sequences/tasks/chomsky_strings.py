"""Context-sensitive tasks of the Chomsky hierarchy on strings: missing duplicate, odds first, bucket sort. Duplicate
string is one of repeating.py."""

from math import factorial, prod

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.sequences.answers import Pairs
from synthlab.sequences.problem import integers
from synthlab.sequences.tasks.addition import pushed, shown
from synthlab.sequences.tasks.copying import Copy, in_order
from synthlab.sequences.tasks.counting import OneAnswer

HOLE, BLANK = 2, 3  # after the bits


class MissingDuplicate(OneAnswer):
    """The bit that is missing in a string of uniform bits written twice. Its place, uniform, holds _; a prompt of odd
    length ends with a blank, written #."""

    source = "Delétang et al., 2022, arXiv 2207.02098: missing duplicate"
    departs = "there is no length 1, for which the authors' code has a 1"
    symbols = ("0", "1", "_", "#")

    @property
    def shortest(self) -> int:
        return 2

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        half = lengths // 2
        bits = shown(torch.randint(2, (len(lengths), int(half.max())), generator=generator), half)
        blank = shown(torch.full((len(lengths), 1), BLANK), lengths % 2)
        prompt, _ = pushed(torch.cat((bits, bits, blank), 1))
        hole = integers(2 * half, generator)[:, None]
        return self.answered(prompt.scatter(1, hole, HOLE), lengths, prompt.gather(1, hole)[:, 0])

    def chance(self, length: int) -> float:
        return 0.5


class OddsFirst(Copy):
    """The symbols at odd places, the first, third, fifth, ..., then those at even places. They are independent and
    uniform."""

    source = "Delétang et al., 2022, arXiv 2207.02098: odds first"
    departs = "as the authors write it; their code has the symbols at even places first"

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        place, odds = torch.arange(prompt.shape[1]), (lengths[:, None] + 1) // 2
        order = torch.where(place < odds, 2 * place, 2 * (place - odds) + 1)
        return prompt.gather(1, order.clamp(max=prompt.shape[1] - 1))


class BucketSort(Copy):
    """The symbols in increasing order. They are independent and uniform, and so repeat."""

    source = "Delétang et al., 2022, arXiv 2207.02098: bucket sort"

    def answer(self, prompt: Int[Tensor, "B P"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B P"]:
        return in_order(prompt, lengths, len(self.symbols))

    def chance(self, length: int) -> float:
        """That of the answer in which all symbols are as often as each other, or nearly."""
        count = len(self.symbols)
        often = [length // count + (symbol < length % count) for symbol in range(count)]
        return factorial(length) // prod(map(factorial, often)) / count**length
