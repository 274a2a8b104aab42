"""Regular tasks of the Chomsky hierarchy: even pairs, cycle navigation, modular arithmetic. The fourth is parity."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.answers import Pairs
from synthlab.sequences.problem import bounded, places
from synthlab.sequences.tasks.copying import numbered
from synthlab.sequences.tasks.counting import BITS, OneAnswer, likeliest_sum

PLUS, MINUS, TIMES = range(3)  # operators, after the numbers


class EvenPairs(OneAnswer):
    """Whether the number of neighbours that differ, 01 or 10, is odd: whether the first bit differs from the last. Bits
    are independent and uniform."""

    source = "Delétang et al., 2022, arXiv 2207.02098: even pairs"
    symbols = BITS

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(2, (len(lengths), int(lengths.max())), generator=generator)
        last = prompt.gather(1, lengths[:, None] - 1)[:, 0]
        return self.answered(prompt, lengths, prompt[:, 0] != last)

    def chance(self, length: int) -> float:
        return 1.0 if length == 1 else 0.5


class CycleNavigation(OneAnswer):
    """Where a walk from 0 on a ring of ``positions`` ends. Each symbol is a step to the left (l), a stay (s) or a step
    to the right (r), independent and uniform."""

    source = "Delétang et al., 2022, arXiv 2207.02098: cycle navigation"

    def __init__(self, positions: int):
        self.positions = bounded("positions", positions, 2, 100)
        self.symbols = ("l", "s", "r", *numbered(positions))

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        prompt = torch.randint(3, (len(lengths), int(lengths.max())), generator=generator)
        walked = (prompt - 1).where(places(lengths, prompt.shape[1]), 0).sum(1)
        return self.answered(prompt, lengths, 3 + walked % self.positions)

    def chance(self, length: int) -> float:
        return likeliest_sum((-1, 0, 1), self.positions, length)


class ModularArithmetic(OneAnswer):
    """The value of an expression such as 1 + 2 * 3, modulo ``modulus``; products come before sums and differences.
    Numbers are independent and uniform on 0, ..., ``modulus`` - 1, operators on +, -, *. Lengths are odd."""

    source = "Delétang et al., 2022, arXiv 2207.02098: modular arithmetic (simple)"
    departs = "there are no even lengths, which the authors' code shortens by one"

    def __init__(self, modulus: int):
        self.modulus = bounded("modulus", modulus, 2, 100)
        self.symbols = (*numbered(modulus), "+", "-", "*")

    def has(self, length: int) -> bool:
        return super().has(length) and length % 2 == 1

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        rows, longest = len(lengths), int(lengths.max())
        prompt = torch.randint(self.modulus, (rows, longest), generator=generator)
        operators = torch.randint(3, (rows, longest // 2), generator=generator)
        held = places(lengths, longest)
        # Behind the end, zeros are added.
        value = self._value(prompt[:, ::2] * held[:, ::2], operators.where(held[:, 1::2], PLUS))
        prompt[:, 1::2] = self.modulus + operators
        return self.answered(prompt, lengths, value)

    def _value(self, numbers: Int[Tensor, "B N"], operators: Int[Tensor, "B M"]) -> Int[Tensor, " B"]:
        total, term = torch.zeros_like(numbers[:, 0]), numbers[:, 0]
        for number, operator in zip(numbers.T[1:], operators.T, strict=True):
            grows = operator == TIMES  # the term; otherwise it is added, and another one begins
            total = total + term.masked_fill(grows, 0)
            term = torch.where(grows, term * number, torch.where(operator == MINUS, -number, number)) % self.modulus
        return (total + term) % self.modulus

    def chance(self, length: int) -> float:
        every = torch.arange(self.modulus)
        times = F.one_hot(every[:, None] * every % self.modulus).double().mean(1)  # from term to term
        both = torch.zeros(self.modulus, self.modulus, dtype=torch.float64)  # shares of each total and term
        both[0] = 1 / self.modulus
        for _ in range(length // 2):
            both = both @ times / 3 + 2 / 3 * self._summed(both)[:, None] / self.modulus
        return self._summed(both).max().item()

    def _summed(self, both: Tensor) -> Tensor:
        every = torch.arange(self.modulus)
        total = (every[:, None] + every) % self.modulus
        return torch.zeros(self.modulus, dtype=torch.float64).index_add_(0, total.flatten(), both.flatten())
