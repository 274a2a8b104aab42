"""Index hints: another task, with a token before each symbol that tells its place."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.sequences.task import HIDDEN, AnswerTask, Pairs, draw_integers, push_left


class IndexHints(AnswerTask):
    """Another task, ``of``, with a hint before each symbol that has a place; symbols of one place have the same hint.

    For a prompt of n places, n + 1 consecutive hints are taken, of which the first is uniform among those with enough
    hints after it. The task must name places (``SequenceTask.couple``).
    """

    source = "Zhou et al., 2023, arXiv 2310.16028, section 5"
    departs = "tasks have no scratchpad"

    def __init__(self, of: Mapping[str, Any], hints: Annotated[int, Field(ge=2, le=10_000)]):
        from synthlab.sequences.tasks import TASKS  # not at the top: that module imports this one

        task = TASKS.build(of, field="task.of")
        if not isinstance(task, AnswerTask) or task.couple(torch.tensor([[task.begin]])) is None:
            such = "choose one that does, such as copy, reverse, or addition with task.of.format=padded"
            raise InputError(f"task.of={of['name']}: names no places; {such}")
        self.of, self.hints, self.shortest, self.longest = task, hints, task.shortest, min(task.longest, hints - 1)
        self.symbols = (*task.symbols, *(f"h{number}" for number in range(hints)))

    def has(self, length: int) -> bool:
        return self.of.has(length) and length < self.hints

    def sizes(self, length: int) -> tuple[int, int]:
        prompt, answer = self.of.sizes(length)
        return 2 * prompt, 2 * answer

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        pairs = self.of.draw(lengths, generator)
        tokens, sizes, *_ = self.of.lay_out(pairs, self.of.width(int(lengths.max())))
        place = cast(Tensor, self.of.couple(tokens))
        first = len(self.of.symbols) + draw_integers(self.hints - lengths, generator)[:, None]
        hints = (first + place - 1).where((place > 0) & (tokens < self.of.begin), HIDDEN)
        column, separator = torch.arange(tokens.shape[1]), pairs.prompt_sizes[:, None] + 1
        prompt, answer = (column > 0) & (column < separator), (column > separator) & (column < sizes[:, None])
        hinted = torch.stack((hints, tokens), 2)
        both = [push_left(hinted.where(part[..., None], HIDDEN).flatten(1)) for part in (prompt, answer)]
        asked = None if pairs.asked is None else pairs.asked.repeat_interleave(2, 1)
        return Pairs(*both[0], *both[1], asked)

    def chance(self, length: int) -> float:
        return self.of.chance(length) / (self.hints - length)
