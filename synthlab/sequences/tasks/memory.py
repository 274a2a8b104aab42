"""Tasks of memory: flip-flop, associative recall of several queries (MQAR), missing duplicate."""

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.task import check_bounds, integers, ranks
from synthlab.sequences.tasks.addition import hide_rest, push_left
from synthlab.sequences.tasks.copying import MOST, draw_distinct
from synthlab.sequences.tasks.counting import OneAnswer

WRITE, READ, IGNORE = 2, 3, 4  # symbols of flip-flop, numbered after the bits
HOLE, BLANK = 2, 3  # symbols of the missing duplicate, numbered after the bits


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

    def __init__(self, ignore: float):
        if not 0 <= ignore <= 1:
            raise InputError(f"task.ignore={ignore:g}: must be 0 to 1")
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

    def __init__(self, keys: int, values: int, queries: int):
        self.keys, self.values = check_bounds("keys", keys, 1, MOST), check_bounds("values", values, 1, MOST)
        self.queries = check_bounds("queries", queries, 1, MOST)
        self.shortest, self.longest = queries, keys
        self.symbols = (*(f"k{key}" for key in range(keys)), *(f"v{value}" for value in range(values)))

    def sizes(self, length: int) -> tuple[int, int]:
        return 2 * length, 2 * self.queries

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        keys = draw_distinct(rows, longest, self.keys, generator)
        values = self.keys + torch.randint(self.values, (rows, longest), generator=generator)
        chosen = ranks(lengths, longest, generator).argsort(1)[:, : self.queries]
        prompt = torch.stack((keys, values), 2).flatten(1)
        answer = torch.stack((keys.gather(1, chosen), values.gather(1, chosen)), 2).flatten(1)
        asked = torch.tensor([False, True]).repeat(self.queries).expand(answer.shape)
        return Pairs(prompt, 2 * lengths, answer, torch.full_like(lengths, 2 * self.queries), asked)

    def chance(self, length: int) -> float:
        return float(self.values) ** -self.queries


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
        hole = integers(2 * half, generator)[:, None]
        return self.make_pairs(prompt.scatter(1, hole, HOLE), lengths, prompt.gather(1, hole)[:, 0])
