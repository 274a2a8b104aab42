"""Stack manipulation, a deterministic context-free task of the Chomsky hierarchy."""

from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.task import integers
from synthlab.sequences.tasks.copying import reverse

POP, PUSH = 2, 3  # numbered after the bits; PUSH pushes 0, the next symbol pushes 1


class StackManipulation(AnswerTask):
    """The stack after instructions, from top to bottom.

    A prompt of n symbols is a stack of bits from bottom to top, whose size is uniform on 1, ..., n - 1 (1 for n = 1),
    then instructions: pop, push 0, push 1, equally likely. Pop does nothing to an empty stack.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: stack manipulation"
    departs = "the end follows the stack at once, without zeros behind"
    symbols = ("0", "1", "pop", "push0", "push1")

    def sizes(self, length: int) -> tuple[int, int]:
        return length, length

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        first = 1 + integers((lengths - 1).clamp(min=1), generator)
        bits = torch.randint(2, (rows, longest), generator=generator)
        instructions = POP + torch.randint(3, (rows, longest), generator=generator)
        prompt = bits.where(torch.arange(longest) < first[:, None], instructions)
        stack, height = torch.zeros_like(prompt), torch.zeros_like(lengths)
        for place, symbol in enumerate(prompt.T):
            # The bits of the first stack are pushed too. Entries above the top are arbitrary.
            stack.scatter_(1, height[:, None], symbol.where(symbol < POP, symbol - PUSH).clamp(min=0)[:, None])
            change = torch.where(symbol == POP, -1, 1)
            height = (height + change.where(place < lengths, 0)).clamp(min=0)
        return Pairs(prompt, lengths, reverse(stack, height), height)

    def chance(self, length: int) -> float:
        # Round the table's size up, so that few tables serve all lengths.
        before = _sizes(1 << length.bit_length())[length - 1]  # without the last symbol, which is an instruction
        shares = _shift_shares(before) / (length - 1) if length > 1 else torch.tensor([0.0, 1.0])
        # All stacks of a size are equally likely.
        return (shares * 0.5 ** torch.arange(len(shares))).max().item()


@lru_cache(maxsize=16)
def _sizes(longest: int) -> Float[Tensor, "K K"]:
    """Return the shares of stacks of each size after k = 0, ..., ``longest`` symbols.

    They are summed over the sizes 1, ..., k of the first stack.
    """
    rows = torch.zeros(longest + 1, longest + 1, dtype=torch.float64)
    for size in range(1, longest + 1):
        rows[size] = _shift_shares(rows[size - 1])
        rows[size, size] += 1  # the first stack
    return rows


def _shift_shares(shares: Float[Tensor, " K"]) -> Float[Tensor, " K"]:
    """Return the shares of sizes after another instruction."""
    popped = F.pad(shares[1:], (0, 1))
    popped[0] += shares[0]
    return (popped + 2 * F.pad(shares[:-1], (1, 0))) / 3
