"""Arithmetic: addition in the formats of the literature, and the tasks of the Chomsky hierarchy on binary numbers."""

import math
import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Shaped
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.task import HIDDEN, AnswerTask, Pairs, draw_integers, hide_rest, mask_lengths, push_left
from synthlab.sequences.tasks.copying import reverse
from synthlab.sequences.tasks.counting import BITS

LIMB = 60  # number of bits processed at once; a sum of their powers fits 64 bits

Whole = Shaped[np.ndarray, " B"]  # Python's integers, of any size, as objects

Format = Literal["plain", "reversed", "padded", "hinted"]
Hints = Annotated[int, Field(ge=2, le=10_000)]


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

    def __init__(self, base: Annotated[int, Field(ge=2, le=1000)], format: Format, hints: Hints):
        self.base, self.format, self.hints = base, format, hints if format == "hinted" else 0
        self.plus, self.longest = base, self.hints - 1 if self.hints else math.inf
        self.symbols = (*map(str, range(base)), "+", *(f"h{number}" for number in range(self.hints)))

    def sizes(self, length: int) -> tuple[int, int]:
        each = 2 if self.format == "hinted" else 1
        return 2 * each * length + 1, each * (length + 1)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        shorter = 1 + draw_integers(lengths, generator)
        swap = torch.rand(len(lengths), generator=generator) < 0.5
        first = self._number(lengths.where(~swap, shorter), lengths, generator)
        second = self._number(shorter.where(~swap, lengths), lengths, generator)
        total = self.add(first, second)
        if self.format in ("padded", "hinted"):
            first, second = first._replace(sizes=lengths), second._replace(sizes=lengths)
            total = total._replace(sizes=lengths + 1)
        start = torch.zeros_like(lengths)
        if self.hints:
            start = draw_integers(self.hints - lengths, generator)
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

    def couple(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B T"] | None:
        """Return 1, 2, ... for digits from the least significant on, 0 for signs; None for formats that do not fit."""
        if self.format not in ("reversed", "padded"):
            return None
        column = torch.arange(tokens.shape[-1])
        return column - column.where(tokens >= self.base, 0).cummax(-1).values

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
        return DigitNumbers(digits * mask_lengths(sizes, longest), sizes)

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


class BinaryOperation(AnswerTask):
    """An operation on two binary numbers, the least significant bit first, with its sign between them.

    A prompt has n = ``length`` symbols in all. The first number has 1 to n - 2 bits, uniformly; the second has the
    rest. A number of k bits is uniform on 1, ..., 2^k - 1, padded with zeros up to k bits. The answer has the least
    significant bit first, and no zeros at its end.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: binary addition, binary multiplication"
    departs = (
        "there are no lengths below 3, where the authors' code has a single number; the end follows the answer at "
        "once, without zeros behind"
    )
    shortest = 3
    result: Callable[[Any, Any], Any]  # the operation on two numbers

    def sizes(self, length: int) -> tuple[int, int]:
        return length, length - 1

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        size = 1 + draw_integers(lengths - 2, generator)
        sizes = size, lengths - 1 - size
        first, second = (draw_bits(each, generator) for each in sizes)
        sign = torch.full((len(lengths), 1), len(BITS))
        prompt, _ = push_left(torch.cat((hide_rest(first, sizes[0]), sign, hide_rest(second, sizes[1])), 1))
        answer = bits_of(self.result(to_whole(first), to_whole(second)), int(lengths.max()) - 1)
        places_from_1 = torch.arange(1, answer.shape[1] + 1)
        return Pairs(prompt, lengths, answer, (answer * places_from_1).amax(1))

    def chance(self, length: int) -> float:
        """Return an upper bound: no result is more likely than a value of the longer number, given the shorter one."""
        longer = [max(size, length - 1 - size) for size in range(1, length - 1)]
        return sum(1 / (2**size - 1) for size in longer) / len(longer)


class BinaryAddition(BinaryOperation):
    """The sum of two binary numbers."""

    symbols, result = (*BITS, "+"), staticmethod(operator.add)


class BinaryMultiplication(BinaryOperation):
    """The product of two binary numbers."""

    symbols, result = (*BITS, "*"), staticmethod(operator.mul)


class ComputeSqrt(AnswerTask):
    """The square root of a number, rounded down, both binary with the most significant bit first.

    The number, of n = ``length`` bits, is uniform on 1, ..., 2^n - 1, padded with zeros in front; the root has n / 2
    bits, rounded up.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: compute sqrt"
    symbols = BITS

    def sizes(self, length: int) -> tuple[int, int]:
        return length, (length + 1) // 2

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        number, sizes = draw_bits(lengths, generator), (lengths + 1) // 2
        roots = np.asarray(np.frompyfunc(math.isqrt, 1, 1)(to_whole(number)))
        answer = bits_of(roots, int(sizes.max()))
        return Pairs(reverse(number, lengths), lengths, reverse(answer, sizes), sizes)

    def chance(self, length: int) -> float:
        greatest = math.isqrt(2**length - 1)
        # 2 r + 1 numbers have the root r; the greatest root has those that remain.
        return max(2 * greatest - 1, 2**length - greatest**2) / (2**length - 1)


def draw_bits(sizes: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B W"]:
    """Draw numbers, uniform on 1, ..., 2^k - 1 for each k of ``sizes``.

    They are zero-padded bits, the least significant first.
    """
    held = mask_lengths(sizes, int(sizes.max()))
    bits = torch.zeros(held.shape, dtype=torch.long)
    while len(left := (~bits.any(1)).nonzero()[:, 0]):  # numbers of 0 are drawn again
        bits[left] = torch.randint(2, (len(left), held.shape[1]), generator=generator) * held[left]
    return bits


def to_whole(bits: Int[Tensor, "B W"]) -> Whole:
    """Return the numbers with the given bits, the least significant first."""
    limbs = F.pad(bits, (0, -bits.shape[1] % LIMB)).unflatten(1, (-1, LIMB)) << torch.arange(LIMB)
    columns = enumerate(limbs.sum(2).T.numpy().astype(object))
    return np.asarray(sum(column << (LIMB * place) for place, column in columns))


def bits_of(values: Whole, width: int) -> Int[Tensor, "B W"]:
    """Return the last ``width`` bits of integers, the least significant first."""
    columns = [(values >> place) & (2**LIMB - 1) for place in range(0, width, LIMB)]
    limbs = torch.from_numpy(np.stack(columns, 1).astype(np.int64))
    return ((limbs[:, :, None] >> torch.arange(LIMB)) & 1).flatten(1)[:, :width]
