"""Draws, and their values against an exact distribution."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_drawn_from(drawn: Iterable[Any], exact: Mapping[Any, float]) -> None:
    """Pearson's chi-square test of the values ``drawn`` against their ``exact`` probabilities.

    The statistic of K values in n draws has mean K - 1 and variance 2 (K - 1) + (sum of 1 / p - K^2 - 2 K + 2) / n.
    Five deviations err once in a million, and seeds are fixed.
    """
    counts = Counter(drawn)
    exact = {value: p for value, p in exact.items() if p}
    assert math.isclose(sum(exact.values()), 1)
    assert counts.keys() <= exact.keys()
    number, kinds = counts.total(), len(exact)
    statistic = sum((counts[value] - number * p) ** 2 / (number * p) for value, p in exact.items())
    variance = 2 * (kinds - 1) + (sum(1 / p for p in exact.values()) - kinds**2 - 2 * kinds + 2) / number
    assert statistic <= kinds - 1 + 5 * max(0.0, variance) ** 0.5


def assert_uniform(drawn: Iterable[Any], kinds: Collection[Any]) -> None:
    assert_drawn_from(drawn, dict.fromkeys(kinds, 1 / len(kinds)))
