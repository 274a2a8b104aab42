"""Laws that every sampler of position ids keeps; the exact distributions of all but CREAM."""

from itertools import combinations, product

import pytest
import torch

from support.configs import small
from support.frequencies import assert_drawn_from, generator
from synthlab.positions.samplers import SAMPLERS, ClexPositions, Offset, PoSE, RandPos
from synthlab.training.execution import execute

OTHERS = [name for name in SAMPLERS if name != "contiguous"]


def build(name: str):
    return SAMPLERS.build(small(f"positions={name}").positions or {"name": name})


def tuples(drawn: torch.Tensor) -> list[tuple[int, ...]]:
    return [tuple(row) for row in drawn.tolist()]


@pytest.mark.parametrize("name", OTHERS)
def test_every_sampler_trains(name):
    later = ("task=hidden_markov", "extension=pi", "finetune.steps=2")  # a text of Python's differs by its version
    config, without = small(f"positions={name}", *later), small(*later)
    assert config.id != without.id
    record, plain = execute(config), execute(without)
    assert record.metrics["loss"].notna().all()
    found, expected = record.training["loss"].tolist(), plain.training["loss"].tolist()
    if name == "offset":  # RoPE sees distances alone
        assert found == pytest.approx(expected, rel=1e-5)
    else:
        assert found != pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_positions_increase_and_stay_within_reach(name, length):
    sampler = build(name)
    drawn = sampler.positions(64, length, generator())
    assert drawn.shape == (64, length)
    assert (drawn[:, 1:] > drawn[:, :-1]).all()
    assert drawn.min() >= 0
    assert drawn.max() < sampler.reach(length)
    again = sampler.positions(64, length, generator())
    assert torch.equal(drawn, again)


@pytest.mark.parametrize("name", OTHERS)
def test_factor_is_test_length_over_window(name):
    for settings, factor in [
        ((), 4),
        (("test_length=25",), 4),
        (("test_length=4",), 1),
        (("extension=pi", "finetune.steps=2", "finetune.length=16"), 2),
        (("positions.factor=3",), 3),
    ]:
        config = small(f"positions={name}", *settings)
        assert config.positions["factor"] == factor
    reach = build(name).reach(8)
    assert reach == 32
    reached = max(build(name).positions(64, 8, generator(seed)).max() for seed in range(64))
    assert reach - 8 <= reached < reach


def test_every_contiguous_start_is_equally_likely():
    drawn = Offset(factor=2).positions(3000, 2, generator())
    assert_drawn_from(tuples(drawn), {(u, u + 1): 1 / 3 for u in range(3)})


def test_every_sorted_subset_is_equally_likely():
    drawn = RandPos(factor=2).positions(10_000, 3, generator())
    assert_drawn_from(tuples(drawn), dict.fromkeys(combinations(range(6), 3), 1 / 20))


def test_clex_draws_a_length_for_each_call():
    exact = {(0, 1, 2): 1 / 2} | {(0, middle, 5): 1 / 8 for middle in (1, 2, 3, 4)}
    sampler, source = ClexPositions(factor=2), generator()
    calls = [sampler.positions(5, 3, source) for _ in range(2000)]
    assert all(torch.equal(call, call[:1].expand(5, 3)) for call in calls)
    assert_drawn_from([tuples(call)[0] for call in calls], exact)


@pytest.mark.parametrize("length", [3, 4])
def test_pose_splits_in_the_first_half_and_skips_uniformly(length):
    splits, skips = range(1, (length + 1) // 2 + 1), range(length + 1)
    exact: dict = {}
    for split, skip in product(splits, skips):
        ids = (*range(split), *range(split + skip, length + skip))
        exact[ids] = exact.get(ids, 0) + 1 / len(splits) / len(skips)
    window = PoSE(factor=2, text=None).window(5000, length, generator())
    assert window.places is None
    assert_drawn_from(tuples(window.positions), exact)


def test_pose_gathers_the_second_chunk():
    sampler = PoSE(factor=2, text=3)
    assert sampler.text_length(2) == 6
    window = sampler.window(5000, 2, generator())
    # Of 2 tokens the first is a chunk: its successor skips 0 to 2 positions and 0 to 4 tokens, independently.
    exact = {((0, 1 + skip), (0, 1 + left)): 1 / 15 for skip in range(3) for left in range(5)}
    assert_drawn_from(zip(tuples(window.positions), tuples(window.places), strict=True), exact)
