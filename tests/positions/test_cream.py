"""CREAM's positions against their exact distribution, enumerated from the normal distribution function."""

import math
from collections import defaultdict
from itertools import product

import pytest
import torch

from support.frequencies import assert_drawn_from, assert_uniform, generator
from synthlab.positions.samplers import Cream

SETTINGS = {"factor": 4, "sigma": 3.0, "continuity": 4, "shared": 1, "limits": "clamped", "text": None}
ALWAYS_LONG = {"continuity": 1000}


def cream(**settings) -> Cream:
    return Cream(**SETTINGS | settings)


def below(value: float, mean: float, sigma: float = 3.0) -> float:
    return 0.5 * (1 + math.erf((value - mean) / (sigma * math.sqrt(2))))


def chances(factor: int, limits: str) -> dict[int, float]:
    """The probabilities of f = 2 alpha."""
    low, high, mean = 2, 2 * factor, 1 + factor
    found = {f: below(f + 1, mean) - below(f, mean) for f in range(low, high)}
    if limits == "renormalized":
        return {f: chance / (below(high, mean) - below(low, mean)) for f, chance in found.items()}
    found[low] += below(low, mean)
    return found | {high: 1 - below(high, mean)}


def ends(f: int, length: int, head: int) -> range:
    alpha, middle = f / 2, length - 2 * head
    return range(int(head + alpha * (middle - 1)), int(alpha * length) - head)


def distribution(length: int, factor: int, limits: str, heads: list[int]) -> dict[tuple[int, ...], float]:
    exact: dict[tuple[int, ...], float] = defaultdict(float)
    for head in heads:
        middle = length - 2 * head
        for f, chance in chances(factor, limits).items():
            for e in ends(f, length, head):
                tail = range(factor * length - head, factor * length)
                ids = (*range(head), *range(e - middle + 1, e + 1), *tail)
                exact[ids] += chance / len(heads) / len(ends(f, length, head))
    return dict(exact)


def test_exact_distribution_by_hand():
    assert list(ends(2, 64, 21)) == [42]
    assert (min(ends(5, 64, 21)), max(ends(5, 64, 21))) == (73, 138)
    assert (min(ends(8, 64, 21)), max(ends(8, 64, 21))) == (105, 234)
    for f in range(2, 9, 2):
        assert len(ends(f, 64, 21)) == (f / 2 - 1) * 43 + 1
    # The ends are more frequent if values beyond them are clamped.
    for limits, first, last in (("clamped", 0.2525, 0.1587), ("renormalized", 0.1374, 0)):
        assert chances(4, limits)[2] == pytest.approx(first, abs=1e-4)
        assert chances(4, limits).get(8, 0) == pytest.approx(last, abs=1e-4)


@pytest.mark.parametrize("limits", ["clamped", "renormalized"])
@pytest.mark.parametrize(("length", "factor", "continuity"), [(9, 2, 1), (16, 3, 1), (64, 4, 4)])
def test_positions_have_the_exact_distribution(length, factor, continuity, limits):
    heads = [length // 3, continuity * factor]
    drawn = cream(factor=factor, continuity=continuity, limits=limits).positions(60_000, length, generator())
    assert_drawn_from(map(tuple, drawn.tolist()), distribution(length, factor, limits, heads))


def test_a_factor_of_one_is_a_contiguous_window():
    for limits in ("clamped", "renormalized"):
        drawn = cream(factor=1, limits=limits).positions(100, 32, generator())
        assert torch.equal(drawn, torch.arange(32).expand(100, 32))


def long_heads(drawn: torch.Tensor) -> list[bool]:
    """Whether windows of 64 tokens of 256 have heads and tails of 21."""
    return ((drawn[:, 20] == 20) & (drawn[:, -21] == 235)).tolist()


@pytest.mark.parametrize("shared", [1, 6])
def test_windows_that_share_a_draw(shared):
    sampler, source = cream(continuity=1, shared=shared), generator()
    kinds = [kind for rows in (4, 4, 1, 600, 2991) for kind in long_heads(sampler.positions(rows, 64, source))]
    groups = [kinds[start : start + shared] for start in range(0, 3600, shared)]
    assert all(len(set(group)) == 1 for group in groups)
    pairs = [(one[0], other[0]) for one, other in zip(groups[::2], groups[1::2], strict=True)]
    assert_uniform(pairs, list(product((True, False), repeat=2)))


def places_by_rule(ids: list[int], text: int, head: int) -> list[int]:
    """Step by step: the head, the middle where its positions are or just before the tail, the tail."""
    middle = ids[head : len(ids) - head]
    if middle[-1] >= text:
        middle = list(range(text - head - len(middle), text - head))
    return [*range(head), *middle, *range(text - head, text)]


@pytest.mark.parametrize("text", [1, 2, 4])
def test_tokens_are_gathered_as_the_authors_take_them(text):
    sampler = cream(text=text, **ALWAYS_LONG)
    assert sampler.text_length(64) == 64 * text
    window = sampler.window(2000, 64, generator())
    assert torch.equal(window.positions, cream(**ALWAYS_LONG).positions(2000, 64, generator()))
    for ids, places in zip(window.positions.tolist(), window.places.tolist(), strict=True):
        assert places == places_by_rule(ids, 64 * text, 21)
