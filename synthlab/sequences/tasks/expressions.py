"""Modular arithmetic, with brackets and without: tasks of the Chomsky hierarchy."""

from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.task import Pairs, draw_integers, mask_lengths
from synthlab.sequences.tasks.copying import number_symbols
from synthlab.sequences.tasks.counting import Modulus, OneAnswer

PLUS, MINUS, OPEN, CLOSE, LAST = range(5)  # numbered after the digits; LAST is * or, in an equation, x
TIMES = 2  # without brackets, numbered after + and -
SPLIT = 5  # the smallest length of an expression with two parts


class Spans(NamedTuple):
    """Subexpressions: their rows, their places, their lengths."""

    row: Int[Tensor, " N"]
    start: Int[Tensor, " N"]
    length: Int[Tensor, " N"]


class ModularArithmeticBrackets(OneAnswer):
    """The value of an expression with brackets, modulo ``modulus``.

    An expression of length 1 to 4 is d, -d, (d), (-d), with a uniform digit d below the modulus. A longer one is
    (LEFT o RIGHT), where the length of LEFT is uniform on all that are possible, and o on + and -, or with ``products``
    on +, -, *.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: modular arithmetic"

    def __init__(self, modulus: Modulus, products: bool):
        self.modulus, self.operators = modulus, 3 if products else 2
        self.symbols = (*number_symbols(modulus), "+", "-", "(", ")", *(["*"] if products else []))

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        return self.make_pairs(*self._expressions(lengths, generator))

    def chance(self, length: int) -> float:
        # Round the table's size up, so that few tables serve all lengths.
        return _values(self.modulus, self.operators, 1 << length.bit_length())[length].max().item()

    def _expressions(
        self, lengths: Int[Tensor, " B"], generator: torch.Generator
    ) -> tuple[Int[Tensor, "B L"], Int[Tensor, " B"], Int[Tensor, " B"]]:
        """Draw expressions of ``lengths``, padded with zeros; return them, their lengths and their values."""
        symbols = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.long)
        spans, levels = Spans(torch.arange(len(lengths)), torch.zeros_like(lengths), lengths), []
        while len(spans.row):  # level by level of the trees, for all expressions together
            split = spans.length >= SPLIT
            self._bracket(symbols, Spans(*(part[spans.length >= 3] for part in spans)))
            value = torch.zeros_like(spans.row)
            value[~split] = self._terms(symbols, Spans(*(part[~split] for part in spans)), generator)
            operator, spans = self._halves(symbols, Spans(*(part[split] for part in spans)), generator)
            levels.append((split, value, operator))
        below = torch.zeros(0, dtype=torch.long)  # values of the level below: first all left parts, then all right ones
        for split, value, operator in reversed(levels):
            left, right = below[: len(operator)], below[len(operator) :]
            results = torch.stack((left + right, left - right, left * right))
            value[split] = results.gather(0, operator[None])[0] % self.modulus
            below = value
        return symbols, lengths, below

    def _bracket(self, symbols: Int[Tensor, "B L"], spans: Spans) -> None:
        symbols[spans.row, spans.start] = self.modulus + OPEN
        symbols[spans.row, spans.start + spans.length - 1] = self.modulus + CLOSE

    def _terms(self, symbols: Int[Tensor, "B L"], spans: Spans, generator: torch.Generator) -> Int[Tensor, " N"]:
        """Write a digit, or the negative of one, to each of ``spans``; return the values."""
        digit = torch.randint(self.modulus, spans.row.shape, generator=generator)
        place, negative = spans.start + spans.length // 2, spans.length % 2 == 0
        symbols[spans.row, place] = digit
        symbols[spans.row[negative], place[negative] - 1] = self.modulus + MINUS
        return digit.where(~negative, -digit) % self.modulus

    def _halves(
        self, symbols: Int[Tensor, "B L"], spans: Spans, generator: torch.Generator
    ) -> tuple[Int[Tensor, " N"], Spans]:
        """Write an operator to each of ``spans``; return it, and the parts: all left ones, then all right ones."""
        row, start, length = spans
        left = 1 + draw_integers(length - SPLIT + 1, generator)
        operator = torch.randint(self.operators, row.shape, generator=generator)
        middle = start + 1 + left
        symbols[row, middle] = self.modulus + torch.tensor([PLUS, MINUS, LAST])[operator]
        parts = (row, row), (start + 1, middle + 1), (left, length - left - 3)
        return operator, Spans(*(torch.cat(pair) for pair in parts))


class SolveEquation(ModularArithmeticBrackets):
    """The digit x in an equation such as (x-(2)) = 4, modulo ``modulus``.

    The left side is an expression with brackets, + and -, two symbols shorter than the equation; the right side is its
    value. The digit replaced by x is the first one from a uniform place on, continuing at the first place after the
    last.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: solve equation"
    departs = "there are no lengths below 3, for which the authors' code has zeros"
    shortest = 3

    def __init__(self, modulus: Modulus):
        super().__init__(modulus, products=False)
        self.symbols = (*self.symbols, "x", "=")

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        symbols, sizes, values = self._expressions(lengths - 2, generator)
        digits = (symbols < self.modulus) & mask_lengths(sizes, symbols.shape[1])
        ahead = (torch.arange(symbols.shape[1]) - draw_integers(sizes, generator)[:, None]) % sizes[:, None]
        chosen = ahead.where(digits, symbols.shape[1]).argmin(1)[:, None]
        answer = symbols.gather(1, chosen)[:, 0]
        prompt = F.pad(symbols.scatter(1, chosen, self.modulus + LAST), (0, 2))
        prompt.scatter_(1, sizes[:, None], self.modulus + LAST + 1)
        prompt.scatter_(1, sizes[:, None] + 1, values[:, None])
        return self.make_pairs(prompt, lengths, answer)

    def chance(self, length: int) -> float:
        return 1 / self.modulus  # the digits are uniform, at every place


class ModularArithmetic(OneAnswer):
    """The value of an expression such as 1 + 2 * 3, modulo ``modulus``; products come before sums and differences.

    Numbers are independent and uniform on 0, ..., ``modulus`` - 1, operators on +, -, *. Lengths are odd.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: modular arithmetic (simple)"
    departs = "there are no even lengths, which the authors' code shortens by one"

    def __init__(self, modulus: Modulus):
        self.modulus = modulus
        self.symbols = (*number_symbols(modulus), "+", "-", "*")

    def has(self, length: int) -> bool:
        return super().has(length) and length % 2 == 1

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        prompt = torch.randint(self.modulus, (rows, longest), generator=generator)
        operators = torch.randint(3, (rows, longest // 2), generator=generator)
        held = mask_lengths(lengths, longest)
        # Zeros are added after the end.
        value = self._value(prompt[:, ::2] * held[:, ::2], operators.where(held[:, 1::2], PLUS))
        prompt[:, 1::2] = self.modulus + operators
        return self.make_pairs(prompt, lengths, value)

    def _value(self, numbers: Int[Tensor, "B N"], operators: Int[Tensor, "B M"]) -> Int[Tensor, " B"]:
        total, term = torch.zeros_like(numbers[:, 0]), numbers[:, 0]
        for number, operator in zip(numbers.T[1:], operators.T, strict=True):
            grows = operator == TIMES  # the term is multiplied; otherwise it is added, and a new one begins
            total = total + term.masked_fill(grows, 0)
            term = torch.where(grows, term * number, torch.where(operator == MINUS, -number, number)) % self.modulus
        return (total + term) % self.modulus

    def chance(self, length: int) -> float:
        every = torch.arange(self.modulus)
        # Transition probabilities between terms.
        times = F.one_hot(every[:, None] * every % self.modulus).double().mean(1)
        both = torch.zeros(self.modulus, self.modulus, dtype=torch.float64)  # probabilities of each total and term
        both[0] = 1 / self.modulus
        for _ in range(length // 2):
            both = both @ times / 3 + 2 / 3 * self._sum_shares(both)[:, None] / self.modulus
        return self._sum_shares(both).max().item()

    def _sum_shares(self, both: Tensor) -> Tensor:
        every = torch.arange(self.modulus)
        total = (every[:, None] + every) % self.modulus
        return torch.zeros(self.modulus, dtype=torch.float64).index_add_(0, total.flatten(), both.flatten())


@lru_cache(maxsize=16)
def _values(modulus: int, operators: int, longest: int) -> Float[Tensor, "K M"]:
    """Return the share of each value among expressions of length k = 0, ..., ``longest`` or more; row 0 is unused."""
    every = torch.arange(modulus)
    a, b = every[:, None], every
    onto = torch.stack(((a + b) % modulus, (a - b) % modulus, a * b % modulus))[:operators].flatten(1)
    shares = torch.full((max(longest, SPLIT) + 1, modulus), 1 / modulus, dtype=torch.float64)
    for length in range(SPLIT, longest + 1):
        parts = shares[1 : length - 3]  # for all left lengths; the right ones are the same in reverse
        pairs = (parts.T @ parts.flip(0) / len(parts)).flatten()
        row = torch.zeros(modulus, dtype=torch.float64)
        shares[length] = row.index_add_(0, onto.flatten(), pairs.repeat(operators)) / operators
    return shares
