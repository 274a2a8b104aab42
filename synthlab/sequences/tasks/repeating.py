"""Variants of copying: one symbol repeated, one replaced by another, a string twice."""

from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.problem import bounded
from synthlab.sequences.tasks.addition import pushed, shown
from synthlab.sequences.tasks.copying import MOST, backwards, distinct, numbered

Order = Literal["forwards", "backwards"]


class Repeat(AnswerTask):
    """One symbol, uniform, ``length`` times; the answer has it ``times`` as often. The authors' rsc has ``times`` 1,
    their rsc2x 2."""

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, and the authors' code: copy, variants rsc and rsc2x"
    departs = "symbols are tokens; there the prompt is text"

    def __init__(self, symbols: int, times: int):
        self.symbols, self.times = numbered(bounded("symbols", symbols, 1, MOST)), bounded("times", times, 1, 100)

    def sizes(self, length: int) -> tuple[int, int]:
        return length, self.times * length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        symbol = torch.randint(len(self.symbols), (len(lengths), 1), generator=generator)
        prompt, answer = (symbol.expand(-1, size) for size in self.sizes(int(lengths.max())))
        return Pairs(prompt, lengths, answer, self.times * lengths)

    def chance(self, length: int) -> float:
        return 1 / len(self.symbols)


class Replace(AnswerTask):
    """Two different symbols, uniform, and then the first of them ``length`` times; the answer has the second as often.
    The authors' variant rdc."""

    source = "Kazemnejad et al., 2023, arXiv 2305.19466, and the authors' code: copy, variant rdc"
    departs = "symbols are tokens; there the prompt is text: replace a with b in a a a"

    def __init__(self, symbols: int):
        self.symbols = numbered(bounded("symbols", symbols, 2, MOST))

    def sizes(self, length: int) -> tuple[int, int]:
        return length + 2, length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        pair = distinct(len(lengths), 2, len(self.symbols), generator)
        first, second = pair[:, :1], pair[:, 1:]
        longest = int(lengths.max())
        prompt = torch.cat((pair, first.expand(-1, longest)), 1)
        return Pairs(prompt, lengths + 2, second.expand(-1, longest), lengths)

    def chance(self, length: int) -> float:
        return 1 / len(self.symbols)


class CopyTwice(AnswerTask):
    """The prompt twice, either time forwards or backwards; ``between`` puts a token next between the two. Symbols are
    independent and uniform.

    Duplicate string of Delétang et al. is twice forwards, without the token. Of Kazemnejad et al., with the token,
    cmc2x is twice forwards, mc2x twice backwards, mcrv backwards and then forwards.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: duplicate string; Kazemnejad et al., 2023, arXiv 2305.19466"
    departs = "from Kazemnejad et al.: symbols are tokens; there the prompt is text"

    def __init__(self, symbols: int, first: Order, second: Order, between: bool):
        self.count, self.orders, self.between = bounded("symbols", symbols, 1, MOST), (first, second), between
        self.symbols = (*numbered(symbols), *(["next"] if between else []))

    def sizes(self, length: int) -> tuple[int, int]:
        return length, 2 * length + self.between

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(self.count, (len(lengths), int(lengths.max())), generator=generator)
        turned = {"forwards": prompt, "backwards": backwards(prompt, lengths)}
        first, second = (shown(turned[order], lengths) for order in self.orders)
        between = torch.full((len(lengths), int(self.between)), self.count)
        return Pairs(prompt, lengths, *pushed(torch.cat((first, between, second), 1)))

    def chance(self, length: int) -> float:
        return float(self.count) ** -length
