"""State tracking: the state of a regular language's minimal automaton after each symbol of a string."""

from typing import Annotated, Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from synthlab.sequences.automata import compile_expression, random_expression
from synthlab.sequences.task import Batch, TokenTask, mask_lengths
from synthlab.sequences.tasks.formal import count_strings, draw_paths, has_strings


class StateTracking(TokenTask):
    """The state of the minimal automaton of a regular ``expression`` after each symbol of a string of its language.

    A row is begin and a separator, then each symbol of the string and a separator: begin & a & b & for ab. At each
    separator the model names the state. Strings are uniform among those of a length.
    """

    source = "Yang et al., 2026, arXiv 2608.13433, section 5.2"
    departs = "fresh strings at each step, all lengths alike; the authors' code hides separators from attention"

    def __init__(self, expression: str):
        letters, self.automaton = compile_expression(expression)
        self.letters = len(letters)
        self.symbols = (*letters, *(f"q{state}" for state in range(len(self.automaton[0]))))

    def has(self, length: int) -> bool:
        return super().has(length) and has_strings(self.automaton, length)

    def width(self, length: int) -> int:
        return 2 * length + 2

    def read(self, symbols: Int[Tensor, "B L"]) -> Int[Tensor, "B T"]:
        first, separators = (torch.full((len(symbols), 1), token) for token in (self.begin, self.separator))
        pairs = torch.stack((symbols, separators.expand_as(symbols)), 2).flatten(1)
        return torch.cat((first, separators, pairs), 1)

    def batch(self, lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Batch:
        symbols, states = draw_paths(self.automaton, lengths, generator)
        sizes, read = 2 * lengths + 2, self.read(symbols)
        tokens, targets = torch.full((2, len(lengths), width), self.end)
        tokens[:, : read.shape[1]] = read
        targets[:, 1 : read.shape[1] : 2] = self.letters + states
        inside = mask_lengths(sizes, width)
        asked = inside & (torch.arange(width) % 2 == 1)
        return Batch(tokens.where(inside, self.end), sizes, targets.where(asked, self.end), asked)

    def chance(self, length: int) -> float:
        """Return the share of strings that never leave the first state: what it is before any symbol."""
        table, accepting = self.automaton
        inside = [[each if each == 0 else -1 for each in after] for after in table]
        return count_strings(inside, accepting, length) / max(1, count_strings(table, accepting, length))


class RandomStateTracking(StateTracking):
    """State tracking on a random regular language: the one of a ``number`` among those of a ``kind``.

    Kinds: r_trivial; c_rasp, in C-RASP but not R-trivial; r_group, in R o G but not in C-RASP; other, none of these.
    """

    departs = f"{StateTracking.departs}; no two languages differ in their letters alone, none has a single state"

    def __init__(
        self, kind: Literal["r_trivial", "c_rasp", "r_group", "other"], number: Annotated[int, Field(ge=0, le=999)]
    ):
        super().__init__(random_expression(kind, number))
