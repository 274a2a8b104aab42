"""Tasks of memory: flip-flop, associative recall of several queries (MQAR), retrieval of one item.

Also missing duplicate and stack manipulation.
"""

from functools import lru_cache
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.task import AnswerTask, Pairs, draw_integers, draw_ranks, hide_rest, push_left
from synthlab.sequences.tasks.copying import Number, Several, draw_distinct, reverse
from synthlab.sequences.tasks.counting import OneAnswer

WRITE, READ, IGNORE = 2, 3, 4  # symbols of flip-flop, numbered after the bits
HOLE, BLANK = 2, 3  # symbols of the missing duplicate, numbered after the bits
POP, PUSH = 2, 3  # numbered after the bits; PUSH pushes 0, the next symbol pushes 1


class FlipFlop(OneAnswer):
    """The bit written last.

    A prompt has n instructions, each with a bit. The first instruction writes. The last reads and lacks its bit, which
    is the answer. Each one between ignores its bit with probability ``ignore``, else it writes or reads, with equal
    probability. Bits are uniform, except those of reads, which are the bit written last.
    """

    source = "Liu et al., 2023, arXiv 2306.00946, section 3"
    departs = "asks for the last read alone; lengths vary, and each last instruction reads"
    symbols = ("0", "1", "w", "r", "i")
    shortest = 2

    def __init__(self, ignore: Annotated[float, Field(ge=0, le=1)]):
        self.ignore = ignore

    def sizes(self, length: int) -> tuple[int, int]:
        return 2 * length - 1, 1

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        share = torch.rand(rows, longest, generator=generator, dtype=torch.float64)
        what = torch.full((rows, longest), WRITE)
        what[share < (1 + self.ignore) / 2] = READ
        what[share < self.ignore] = IGNORE
        what[:, 0] = WRITE
        what.scatter_(1, lengths[:, None] - 1, READ)
        bits = torch.randint(2, (rows, longest), generator=generator)
        written = torch.arange(longest).where(what == WRITE, 0).cummax(1).values
        bits = bits.where(what == IGNORE, bits.gather(1, written))
        prompt = torch.stack((what, bits), 2).flatten(1)[:, :-1]
        return self.make_pairs(prompt, 2 * lengths - 1, bits.gather(1, lengths[:, None] - 1)[:, 0])


class MQAR(AnswerTask):
    """Associative recall of several queries.

    A prompt has n pairs of different keys and a value each. Then the model gets each of ``queries`` different keys
    among them, and must find its value.
    """

    source = "Arora et al., 2023, arXiv 2312.04927, section 3"
    departs = "queries follow the pairs at once, without distances from a power law"

    def __init__(self, keys: Number, values: Number, queries: Number):
        self.keys, self.values, self.queries = keys, values, queries
        self.shortest, self.longest = queries, keys
        self.symbols = (*(f"k{key}" for key in range(keys)), *(f"v{value}" for value in range(values)))

    def sizes(self, length: int) -> tuple[int, int]:
        return 2 * length, 2 * self.queries

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        keys = draw_distinct(rows, longest, self.keys, generator)
        values = self.keys + torch.randint(self.values, (rows, longest), generator=generator)
        chosen = draw_ranks(lengths, longest, generator).argsort(1)[:, : self.queries]
        prompt = torch.stack((keys, values), 2).flatten(1)
        answer = torch.stack((keys.gather(1, chosen), values.gather(1, chosen)), 2).flatten(1)
        asked = torch.tensor([False, True]).repeat(self.queries).expand(answer.shape)
        return Pairs(prompt, 2 * lengths, answer, torch.full_like(lengths, 2 * self.queries), asked)

    def chance(self, length: int) -> float:
        return float(self.values) ** -self.queries


class Retrieval(AnswerTask):
    """The class of one of n items: of the item with the greatest number, or of that whose number is asked for.

    An item is one token, a number and a class, which is uniform. The number that is looked for is uniform and occurs
    once, whatever n; the other items have independent numbers, uniform among those below it or, if it is asked for,
    among all others. After the separator the model gets the question, ``max?`` or the number, and must find the class.
    So a single attention head can answer without positions.
    """

    source = "Veličković et al., 2024, arXiv 2410.01104: max retrieval"
    departs = "numbers are whole, and the greatest is uniform at every length; one may ask for a number, too"

    def __init__(self, numbers: Several, classes: Several, ask: Literal["greatest", "number"]):
        self.numbers, self.classes, self.ask = numbers, classes, ask
        items = (f"{number}.{letter}" for number in range(numbers) for letter in range(classes))
        questions = ("max?",) if ask == "greatest" else (f"{number}?" for number in range(numbers))
        self.symbols = (*items, *(f"c{letter}" for letter in range(classes)), *questions)

    def sizes(self, length: int) -> tuple[int, int]:
        return length, 2

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        letters = torch.randint(self.classes, (rows, longest), generator=generator)
        place = draw_integers(lengths, generator)[:, None]
        first = (self.numbers + 1) * self.classes  # the first question
        if self.ask == "greatest":
            wanted = torch.randint(1, self.numbers, (rows, 1), generator=generator)
            others = draw_integers(wanted.expand(-1, longest), generator)
            question = torch.full_like(wanted, first)
        else:
            wanted = torch.randint(self.numbers, (rows, 1), generator=generator)
            others = torch.randint(self.numbers - 1, (rows, longest), generator=generator)
            others += others >= wanted
            question = first + wanted
        items = others.scatter(1, place, wanted) * self.classes + letters
        answer = torch.cat((question, self.numbers * self.classes + letters.gather(1, place)), 1)
        asked = torch.tensor([False, True]).expand(answer.shape)
        return Pairs(items, lengths, answer, torch.full_like(lengths, 2), asked)

    def chance(self, length: int) -> float:
        return 1 / self.classes


class MissingDuplicate(OneAnswer):
    """The missing bit in a string of uniform bits written twice.

    Its place, uniform, holds _; a prompt of odd length ends with a blank, written #.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: missing duplicate"
    departs = "there is no length 1, for which the authors' code has a 1"
    symbols = ("0", "1", "_", "#")
    shortest = 2

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        half = lengths // 2
        bits = hide_rest(torch.randint(2, (len(lengths), int(half.max())), generator=generator), half)
        blank = hide_rest(torch.full((len(lengths), 1), BLANK), lengths % 2)
        prompt, _ = push_left(torch.cat((bits, bits, blank), 1))
        hole = draw_integers(2 * half, generator)[:, None]
        return self.make_pairs(prompt.scatter(1, hole, HOLE), lengths, prompt.gather(1, hole)[:, 0])


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
        first = 1 + draw_integers((lengths - 1).clamp(min=1), generator)
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
