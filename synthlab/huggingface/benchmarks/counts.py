"""Lists of words, of which the answer is those that occur most (RULER's aggregation tasks; words of our own)."""

import math
from collections.abc import Iterator
from itertools import islice

import torch

from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.sample import Draft, Unit
from synthlab.huggingface.benchmarks.words import names

ANSWERS = 3
REPEATS = 4  # of a common word; RULER has 30, against 3 of any other
VOCABULARY = 50  # of frequent_words
POWER = 2.0  # of Zipf's law, as in RULER


def common_words(draws: Draws, depth: float) -> Draft:
    """Three words occur four times each, all others once."""
    del depth  # the answer is everywhere
    words = names(draws)
    common = list(islice(words, ANSWERS))
    placed = [(draws.between(0, 1), word) for word in common for _ in range(REPEATS)]
    units = ((draws.between(0, 1), word) for word in words)
    return Draft(placed, units, "The most common words:", tuple(common), math.nan, "Words: ")


def frequent_words(draws: Draws, depth: float) -> Draft:
    """Words are drawn by Zipf's law. Each of the three most frequent ones occurs more often than any other."""
    del depth
    words = list(islice(names(draws), VOCABULARY))
    top = words[:ANSWERS]
    placed = [(draws.between(0, 1), word) for word in top]
    fillers: tuple[Unit, ...] = tuple((draws.between(0, 1), word) for word in top)
    return Draft(placed, _zipf(draws, words), "The most frequent words:", tuple(top), math.nan, "Words: ", fillers)


def _zipf(draws: Draws, words: list[str]) -> Iterator[Unit]:
    """Words by Zipf's law. Where another word would draw level with one of the first three, that one comes instead."""
    chances = torch.arange(1, len(words) + 1, dtype=torch.float64) ** -POWER
    counts = [1] * ANSWERS + [0] * (len(words) - ANSWERS)
    while True:
        rank = int(torch.multinomial(chances, 1, generator=draws.generator))
        least = min(range(ANSWERS), key=counts.__getitem__)
        if rank >= ANSWERS and counts[rank] + 1 >= counts[least]:
            rank = least
        counts[rank] += 1
        yield draws.between(0, 1), words[rank]
