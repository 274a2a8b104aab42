"""Positions that a task gives its tokens, in training and in tests, beside the samplers of training windows.

``SequenceTask.couple`` names the places of tokens: digits of one significance, say, have the same. Encodings by
distance expect positions that increase along a row, which these do not.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, cast

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Encoding, stack_positions
from synthlab.positions.samplers import SAMPLERS, PositionSampler, uniform
from synthlab.runs.registry import Registry
from synthlab.sequences.task import Batch, SequenceTask

ABSOLUTE = {"embed", "rotate"}  # the hooks of an encoding that can use such positions


class OfTask(PositionSampler):
    """Positions by the places that a task names: 0 for begin and for padding, from 1 on for others."""

    def positions(self, rows, length, generator):
        raise NotImplementedError  # they depend on the tokens

    @abstractmethod
    def reach(self, length: int) -> int:
        """Return the largest position in training on examples up to ``length``, plus one."""

    @abstractmethod
    def number(
        self, task: SequenceTask, tokens: Int[Tensor, "*M B T"], generator: torch.Generator | None = None
    ) -> Int[Tensor, "*M B T"]:
        """Return the positions of tokens.

        Args:
            task: A task whose ``couple`` names places.
            tokens: Rows of tokens, as models read them.
            generator: The source of random offsets, in training; None in tests, where there are none.
        """


class Coupled(OfTask):
    """Position coupling (Cho et al., 2024, arXiv 2405.20671, section 3, and the authors' code).

    A token of place i has the position s + i. For an example of n places s is uniform on 1, ..., ``span`` - n - 1 in
    training, so that positions reach ``span``, and 1 in tests. With ``cyclic``, as an option of the authors' code has
    it, s is uniform on 1, ..., ``span``, and 1 follows ``span``. The authors number significances the other way round,
    which random starts make equivalent.
    """

    ADDED = ("cyclic",)

    def __init__(self, span: Annotated[int, Field(ge=3, le=10**6)], cyclic: bool = False):
        self.span, self.cyclic = span, cyclic

    def reach(self, length):
        return self.span + 1

    def number(self, task, tokens, generator=None):
        places, start = cast(Tensor, task.couple(tokens)), torch.ones_like(tokens[..., :1])
        if generator is not None:
            # Those of the prompt alone: the positions of a prompt must not tell how long its answer is.
            longest = (places * ((tokens == task.separator).cumsum(-1) == 0)).amax(-1)
            last = start[..., 0] * self.span if self.cyclic else self.span - longest - 1
            start[..., 0] = uniform(start[..., 0], last, generator)
        numbered = (start + places - 1) % self.span + 1 if self.cyclic else start + places
        return numbered.where((tokens != task.begin) & (tokens != task.end), 0)


class Abacus(OfTask):
    """Abacus embeddings (McLeish et al., 2024, arXiv 2405.17399, section 3, and the authors' code).

    They are the vectors of ``encoding=learned``; the authors add them to those of another encoding, or of none. The
    digits of each number have the positions k + 1, k + 2, ... from the least significant on, and all else has 0.
    In training k is uniform on 0, ..., ``shift``, the same in all examples of a step, and 0 in tests.
    """

    def __init__(self, shift: Annotated[int, Field(ge=0, le=10**6)]):
        self.shift = shift

    def reach(self, length):
        return length + 2 + self.shift

    def number(self, task, tokens, generator=None):
        places = cast(Tensor, task.couple(tokens))
        shift = 0 if generator is None else int(torch.randint(self.shift + 1, (), generator=generator))
        return (places + shift).where((tokens < task.begin) & (places > 0), 0)


POSITIONS = Registry("positions", PositionSampler, {**SAMPLERS, "coupled": Coupled, "abacus": Abacus})


def find_positions(
    sampler: PositionSampler | None,
    encoding: Encoding,
    task: SequenceTask,
    batch: Batch,
    generators: Sequence[torch.Generator],
) -> Int[Tensor, "M B T"] | None:
    """Return the positions of the rows [M, B, T] of ``batch`` in tests; None for 0, 1, 2, ...

    Each generator draws those of a model whose encoding draws positions.
    """
    if isinstance(sampler, OfTask):
        return sampler.number(task, batch.tokens)
    return stack_positions(encoding, batch.sizes, batch.tokens.shape[-1], generators)


def check_places(task: SequenceTask, setting: str) -> None:
    """Raise InputError, about ``setting``, for a task that names no places, or places that depend on later tokens."""
    length = task.lengths(task.shortest, task.shortest + 9)[:3][-1]
    tokens = task.batch(torch.tensor([length] * 4), task.width(length), torch.Generator().manual_seed(0)).tokens
    places = task.couple(tokens)
    if places is None:
        such = "choose a task that does, such as copy, reverse, or addition with task.format=padded"
        raise InputError(f"{setting} names no places; {such}")
    for size in range(1, tokens.shape[1]):
        alike = cast(Tensor, task.couple(tokens[:, :size])) == places[:, :size]
        if not (alike | (tokens[:, :size] == task.end)).all():
            raise InputError(f"{setting} breaks a law: a place must follow from the tokens up to its own")
