"""Context-sensitive tasks of the Chomsky hierarchy on binary numbers: addition, multiplication, square root."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.task import integers, places
from synthlab.sequences.tasks.addition import hide_rest, push_left
from synthlab.sequences.tasks.copying import reverse
from synthlab.sequences.tasks.counting import BITS

LIMB = 60  # number of bits processed at once; a sum of their powers fits 64 bits

Whole = Shaped[np.ndarray, " B"]  # Python's integers, of any size, as objects


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
        size = 1 + integers(lengths - 2, generator)
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
    held = places(sizes, int(sizes.max()))
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
