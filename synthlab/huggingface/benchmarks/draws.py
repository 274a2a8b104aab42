"""Random choices from one explicit generator."""

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch

from synthlab.rng import seed_generator

Item = TypeVar("Item")


class Draws:
    """Choices from a generator of its own.

    Args:
        seed: The seed of a set of samples.
        name: The purpose of the choices. Choices for two names are independent.
        index: Numbers that distinguish samples of one name, such as the length and the number of the sample.

    Example:
        >>> from synthlab.huggingface.benchmarks.draws import Draws
        >>> draws = Draws(0, "needle", 256, 3)
        >>> again = Draws(0, "needle", 256, 3)
        >>> draws.draw_some("abcdef", 3) == again.draw_some("abcdef", 3)
        True
    """

    def __init__(self, seed: int, name: str, *index: int):
        # The key has two or more numbers, so it differs from all streams of synthlab.rng, whose keys have one.
        key = (zlib.crc32(name.encode()), *index) if index else (zlib.crc32(name.encode()), 0)
        self.generator = seed_generator(np.random.SeedSequence(entropy=seed, spawn_key=key))

    def draw_below(self, end: int) -> int:
        """Draw a whole number from 0 to ``end`` - 1."""
        return int(torch.randint(end, (), generator=self.generator))

    def draw_between(self, low: float, high: float) -> float:
        """Draw a number from ``low`` to ``high``."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def draw_one(self, items: Sequence[Item]) -> Item:
        """Draw one of ``items``."""
        return items[self.draw_below(len(items))]

    def draw_some(self, items: Sequence[Item], count: int) -> list[Item]:
        """Draw ``count`` different ones of ``items``, in random order."""
        return [items[place] for place in torch.randperm(len(items), generator=self.generator)[:count].tolist()]
