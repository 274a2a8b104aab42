"""A task without end token: the model is not asked where its answer ends."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.sequences.answers import AnswerTask, Pairs
from synthlab.sequences.task import places

PROBED, DRAWS = 7, 64  # number of lengths after the shortest, and of answers to each, whose sizes are checked


class WithoutEnd(AnswerTask):
    """Another task, ``of``, scored by the symbols of its answers only: neither the loss nor a score counts the end.

    The length of an answer must follow from that of the prompt; otherwise finding it is part of the task.

    Raises InputError for other tasks, and for formal languages.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: answers are read from as many empty places as they have symbols"

    def __init__(self, of: Mapping[str, Any]):
        from synthlab.sequences.tasks import TASKS  # not at the top: that module imports this class

        task = TASKS.build(of, field="task.of")
        if not isinstance(task, AnswerTask):
            raise InputError(f"task.of={of['name']}: must be a task with answers, not a formal language")
        for length in task.lengths(task.shortest, task.shortest + PROBED):
            drawn = task.draw(torch.full((DRAWS,), length), torch.Generator().manual_seed(0))
            if len(drawn.answer_sizes.unique()) > 1:
                raise InputError(f"task.of={of['name']}: must have answers of one size to prompts of one length")
        self.of, self.symbols, self.shortest, self.longest = task, task.symbols, task.shortest, task.longest

    def has(self, length: int) -> bool:
        return self.of.has(length)

    def sizes(self, length: int) -> tuple[int, int]:
        return self.of.sizes(length)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        pairs = self.of.draw(lengths, generator)
        symbols = places(pairs.answer_sizes, pairs.answer.shape[1])
        return pairs._replace(asked=symbols if pairs.asked is None else pairs.asked & symbols)

    def chance(self, length: int) -> float:
        return self.of.chance(length)
