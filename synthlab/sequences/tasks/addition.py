"""Addition in the formats of the literature."""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.task import check_bounds, integers, places

HIDDEN = -1  # marks an empty column, where numbers are laid side by side

Format = Literal["plain", "reversed", "padded", "hinted"]


class DigitNumbers(NamedTuple):
    """Numbers as digits, the least significant first, and the number of digits of each."""

    digits: Int[Tensor, "B D"]
    sizes: Int[Tensor, " B"]


class Addition(AnswerTask):
    """The sum of two numbers.

    The longer number has ``length`` digits. The number of digits of the other is uniform on 1 to that, and either is
    first. Each number is uniform among those of its number of digits, without leading zeros.

    Formats, of 12 + 7 in base 10:
        plain: ``1 2 + 7``, answer ``1 9``, the most significant digit first.
        reversed: ``2 1 + 7``, answer ``9 1``, the least significant first.
        padded: ``2 1 + 7 0``, answer ``9 1 0``: reversed, with zeros up to the length, in the answer one digit more.
        hinted: ``c 2 d 1 + c 7 d 0``, answer ``c 9 d 1 e 0``: padded, with a hint before each digit, the same for
            digits of the same place. Hints are consecutive; their first is uniform among those with enough hints after
            it.
    """

    source = "Lee et al., 2023, arXiv 2307.03381; reversed operands and hints: Zhou et al., 2024, arXiv 2402.09371"
    departs = "the operands' numbers of digits; no sign of equality, but the separator"

    def __init__(self, base: int, format: Format, hints: int):
        self.base, self.format = check_bounds("base", base, 2, 1000), format
        self.hints = check_bounds("hints", hints, 2, 10_000) if format == "hinted" else 0
        self.plus, self.longest = base, self.hints - 1 if self.hints else math.inf
        self.symbols = (*map(str, range(base)), "+", *(f"h{number}" for number in range(self.hints)))

    def sizes(self, length: int) -> tuple[int, int]:
        each = 2 if self.format == "hinted" else 1
        return 2 * each * length + 1, each * (length + 1)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        shorter = 1 + integers(lengths, generator)
        swap = torch.rand(len(lengths), generator=generator) < 0.5
        first = self._number(lengths.where(~swap, shorter), lengths, generator)
        second = self._number(shorter.where(~swap, lengths), lengths, generator)
        total = self.add(first, second)
        if self.format in ("padded", "hinted"):
            first, second = first._replace(sizes=lengths), second._replace(sizes=lengths)
            total = total._replace(sizes=lengths + 1)
        start = torch.zeros_like(lengths)
        if self.hints:
            start = integers(self.hints - lengths, generator)
        plus = torch.full((len(lengths), 1), self.plus)
        prompt = torch.cat((self._write(first, start), plus, self._write(second, start)), 1)
        answer = self._write(total, start)
        return Pairs(*push_left(prompt), *push_left(answer))

    def add(self, first: DigitNumbers, second: DigitNumbers) -> DigitNumbers:
        """Return the sums, written without leading zeros."""
        sums = F.pad(first.digits + second.digits, (0, 1))
        place = torch.arange(sums.shape[1])
        # A digit carries if the last place up to it whose sum is not base - 1 does: a sum of base - 1 passes a carry
        # on.
        passes = sums == self.base - 1
        decides = place.where(~passes, -1).cummax(1).values
        carries = (sums >= self.base).gather(1, decides.clamp(min=0)) & (decides >= 0)
        carried = F.pad(carries.long(), (1, 0))[:, :-1]
        digits = (sums + carried) % self.base
        sizes = (place + 1).where(digits > 0, 1).amax(1)
        return DigitNumbers(digits, sizes)

    def chance(self, length: int) -> float:
        """Return an upper bound: no sum is more likely than a value of the longer number, which is uniform."""
        numbers = self.base if length == 1 else (self.base - 1) * self.base ** (length - 1)
        return 1 / numbers / (self.hints - length if self.hints else 1)

    def _number(self, sizes: Int[Tensor, " B"], lengths: Int[Tensor, " B"], generator: torch.Generator) -> DigitNumbers:
        """Draw numbers with the given numbers of digits, padded with zeros."""
        longest = int(lengths.max())
        digits = torch.randint(self.base, (len(sizes), longest), generator=generator)
        leading = 1 + torch.randint(self.base - 1, (len(sizes), 1), generator=generator)
        last = sizes[:, None] - 1
        # A number of one digit may be 0.
        digits = digits.scatter(1, last, leading.where(last > 0, digits[:, :1]))
        return DigitNumbers(digits * places(sizes, longest), sizes)

    def _write(self, number: DigitNumbers, start: Int[Tensor, " B"]) -> Int[Tensor, "B W"]:
        """Return numbers in the format, in columns of which some are ``HIDDEN``."""
        digits = hide_rest(*number)
        if self.format == "plain":
            return digits.flip(1)
        if not self.hints:
            return digits
        hints = self.plus + 1 + start[:, None] + torch.arange(digits.shape[1])
        hints = hints.masked_fill(digits == HIDDEN, HIDDEN)
        return torch.stack((hints, digits), 2).flatten(1)


def hide_rest(symbols: Int[Tensor, "B W"], sizes: Int[Tensor, " B"]) -> Int[Tensor, "B W"]:
    """Return ``symbols`` with all but the first ``sizes`` of each row ``HIDDEN``."""
    return symbols.masked_fill(~places(sizes, symbols.shape[1]), HIDDEN)


def push_left(columns: Int[Tensor, "B W"]) -> tuple[Int[Tensor, "B W"], Int[Tensor, " B"]]:
    """Return the tokens of each row in order, without ``HIDDEN`` ones, padded with zeros; and their numbers."""
    kept = columns != HIDDEN
    order = (~kept).long().argsort(dim=1, stable=True)
    return columns.gather(1, order).clamp(min=0), kept.sum(1)
