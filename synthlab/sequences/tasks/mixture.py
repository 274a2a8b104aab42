"""A mixture of tasks."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import torch
from jaxtyping import Int
from pydantic import BeforeValidator, Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.conf_files import read_member
from synthlab.sequences.task import AnswerTask, Pairs, mask_lengths


def _complete(of: Any) -> Any:
    """Return the tasks with a mapping in place of each name, and with the defaults of the files in ``conf/task/``."""
    if not isinstance(of, list):
        return of
    named = [each if isinstance(each, Mapping) else {"name": each} for each in cast(list[Any], of)]
    return [{**read_member("task", str(each.get("name"))), **each} for each in named]


class Mixture(AnswerTask):
    """Examples of several tasks, ``of``, each with a token before its prompt that says which task it is.

    Args:
        of: The tasks. Symbols that are written alike are one token.
        shares: The share of each task in the examples of a length, relative to the others; None: equal.
        upto: The greatest length of each task, or None for all of its lengths; None: all lengths of all tasks.
        only: The task of all examples, counted from 0, at all its lengths; None: all tasks.
    """

    source = "Cai et al., 2025, arXiv 2506.09251, trains on a task with longer examples of a related one"

    def __init__(
        self,
        of: Annotated[list[Mapping[str, Any]], BeforeValidator(_complete), Field(min_length=1)],
        shares: list[PositiveFloat] | None,
        upto: list[Annotated[int, Field(gt=0)] | None] | None,
        only: Annotated[int, Field(ge=0)] | None,
    ):
        from synthlab.sequences.tasks import TASKS  # not at the top: that module imports this one

        count, ends = len(of), upto or [None] * len(of)
        for key, values in {"shares": shares or of, "upto": ends}.items():
            if len(values) != count:
                raise InputError(f"task.{key}={values}: must have a value for each of {count} tasks")
        if only is not None and only >= count:
            raise InputError(f"task.only={only}: must be below the number of tasks, {count}")
        self.tasks: list[AnswerTask] = []
        for place, each in enumerate(of):
            task = TASKS.build(each, field=f"task.of.{place}")
            example = torch.tensor([task.shortest])
            if not isinstance(task, AnswerTask) or task.draw(example, torch.Generator()).asked is not None:
                raise InputError(f"task.of.{place}={each['name']}: must be a task that asks for whole answers")
            self.tasks.append(task)
        self.only, self.shares = only, torch.tensor(shares or [1.0] * count, dtype=torch.float64)
        self.ends = [task.longest if end is None else end for task, end in zip(self.tasks, ends, strict=True)]
        self.symbols = (
            *dict.fromkeys(symbol for task in self.tasks for symbol in task.symbols),
            *(f"task{place}" for place in range(count)),
        )
        known = {symbol: token for token, symbol in enumerate(self.symbols)}
        self.tokens = [torch.tensor([known[symbol] for symbol in task.symbols]) for task in self.tasks]
        taken = self.tasks if only is None else [self.tasks[only]]
        self.shortest, self.longest = min(task.shortest for task in taken), max(task.longest for task in taken)

    def _shares_at(self, length: int) -> list[float]:
        """Return the share of each task in the examples of a length, not normalized; 0 for tasks without any."""
        return [
            float(share) * (task.has(length) and (length <= end if self.only is None else place == self.only))
            for place, (task, end, share) in enumerate(zip(self.tasks, self.ends, self.shares, strict=True))
        ]

    def has(self, length: int) -> bool:
        return any(self._shares_at(length))

    def sizes(self, length: int) -> tuple[int, int]:
        prompts, answers = zip(*(task.sizes(length) for task in self.tasks), strict=True)
        return 1 + max(prompts), max(answers)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        shares = torch.tensor([self._shares_at(length) for length in lengths.tolist()], dtype=torch.float64)
        which = shares.multinomial(1, generator=generator)[:, 0]
        rows, (width, answer_width) = len(lengths), self.sizes(int(lengths.max()))
        prompt, answer = (torch.zeros(rows, size, dtype=torch.long) for size in (width, answer_width))
        prompt[:, 0] = len(self.symbols) - len(self.tasks) + which
        prompt_sizes, answer_sizes = torch.zeros_like(lengths), torch.zeros_like(lengths)
        for place, (task, tokens) in enumerate(zip(self.tasks, self.tokens, strict=True)):
            chosen = (which == place).nonzero()[:, 0]
            if not len(chosen):
                continue
            pairs = task.draw(lengths[chosen], generator)
            for into, first, symbols, sizes in (
                (prompt, 1, pairs.prompt, pairs.prompt_sizes),
                (answer, 0, pairs.answer, pairs.answer_sizes),
            ):
                kept = symbols.where(mask_lengths(sizes, symbols.shape[1]), 0)
                into[chosen, first : first + symbols.shape[1]] = tokens[kept]
            prompt_sizes[chosen], answer_sizes[chosen] = 1 + pairs.prompt_sizes, pairs.answer_sizes
        return Pairs(prompt, prompt_sizes, answer, answer_sizes)

    def chance(self, length: int) -> float:
        """Return an upper bound, the mean over tasks: one answer is rarely the likeliest of all."""
        shares = self._shares_at(length)
        chances = [task.chance(length) if share else 0.0 for task, share in zip(self.tasks, shares, strict=True)]
        return sum(share * chance for share, chance in zip(shares, chances, strict=True)) / sum(shares)
