import torch

from synthlab.rng import STREAMS, stream


def test_streams_differ_by_name_and_by_seed_and_repeat():
    pairs = [(seed, name) for seed in (0, 1) for name in STREAMS]
    draws = {pair: tuple(torch.rand(4, generator=stream(*pair)).tolist()) for pair in pairs}
    assert len(set(draws.values())) == 2 * len(STREAMS)
    assert draws[0, "initial"] == tuple(torch.rand(4, generator=stream(0, "initial")).tolist())


def test_the_streams_keep_their_numbers():
    # Records depend on them: this list may grow at its end, never change.
    assert STREAMS[:5] == ("initial", "training", "positions", "evaluation", "evaluation_positions")
