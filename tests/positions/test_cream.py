"""CREAM's positions against their exact distribution, enumerated from the normal distribution function."""

import math
from collections import defaultdict

import pytest
import torch

from support.frequencies import assert_drawn_from
from synthlab.positions.cream import Cream

SETTINGS = {"factor": 4, "sigma": 3.0, "continuity": 4, "shared": 1, "limits": "clamped", "text": None}
ALWAYS_LONG = {"continuity": 1000}


def cream(**settings) -> Cream:
    return Cream(**SETTINGS | settings)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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
    """The places e at which the middle may end."""
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


def test_places_of_the_middle_are_those_of_the_authors_code():
    assert list(ends(2, 64, 21)) == [42]
    assert (min(ends(5, 64, 21)), max(ends(5, 64, 21))) == (73, 138)
    assert (min(ends(8, 64, 21)), max(ends(8, 64, 21))) == (105, 234)
    for f in range(2, 9):
        if f % 2 == 0:
            assert len(ends(f, 64, 21)) == (f / 2 - 1) * 43 + 1


@pytest.mark.parametrize("limits", ["clamped", "renormalized"])
@pytest.mark.parametrize(("length", "factor", "continuity"), [(9, 2, 1), (16, 3, 1), (64, 4, 4)])
def test_positions_have_the_exact_distribution(length, factor, continuity, limits):
    heads = [length // 3, continuity * factor]
    drawn = cream(factor=factor, continuity=continuity, limits=limits).positions(60_000, length, generator())
    assert_drawn_from(map(tuple, drawn.tolist()), distribution(length, factor, limits, heads))


@pytest.mark.parametrize(("limits", "by_hand"), [("clamped", 0.2525), ("renormalized", 0.1374)])
def test_the_ends_are_more_frequent_if_values_beyond_them_are_clamped(limits, by_hand):
    assert chances(4, limits)[2] == pytest.approx(by_hand, abs=1e-4)
    assert chances(4, limits).get(8, 0) == pytest.approx(0.1587 if limits == "clamped" else 0, abs=1e-4)


def test_a_factor_of_one_is_a_contiguous_window():
    for limits in ("clamped", "renormalized"):
        drawn = cream(factor=1, limits=limits).positions(100, 32, generator())
        assert torch.equal(drawn, torch.arange(32).expand(100, 32))


def long_heads(drawn: torch.Tensor) -> list[bool]:
    """Whether windows of 64 tokens of 256 have heads and tails of 21."""
    return ((drawn[:, 20] == 20) & (drawn[:, -21] == 235)).tolist()


def test_heads_are_drawn_for_each_window():
    kinds = long_heads(cream(continuity=1).positions(4000, 64, generator()))
    pairs = list(zip(kinds[::2], kinds[1::2], strict=True))
    assert_drawn_from(pairs, {(a, b): 1 / 4 for a in (True, False) for b in (True, False)})


def test_as_many_windows_as_are_asked_for_share_a_draw_whatever_the_batches_are():
    sampler, source = cream(continuity=1, shared=6), generator()
    kinds = [kind for rows in (4, 4, 1, 600, 2991) for kind in long_heads(sampler.positions(rows, 64, source))]
    groups = [kinds[start : start + 6] for start in range(0, 3600, 6)]
    assert all(len(set(group)) == 1 for group in groups)
    assert_drawn_from([group[0] for group in groups], {True: 1 / 2, False: 1 / 2})


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
