import numpy as np
import torch

from synthlab.rng import STREAMS, Twisters, rand, stream


def test_streams_differ_by_name_and_by_seed_and_repeat():
    pairs = [(seed, name) for seed in (0, 1) for name in STREAMS]
    draws = {pair: tuple(torch.rand(4, generator=stream(*pair)).tolist()) for pair in pairs}
    assert len(set(draws.values())) == 2 * len(STREAMS)
    assert draws[0, "initial"] == tuple(torch.rand(4, generator=stream(0, "initial")).tolist())


def test_the_streams_keep_their_numbers():
    # Records depend on them: this list may grow at its end, never change.
    assert STREAMS[:5] == ("initial", "training", "positions", "evaluation", "evaluation_positions")


def test_generators_that_are_computed_together_give_the_numbers_of_each():
    seeds = 0, 5489, 2**40 + 7  # a seed's lower 32 bits count
    together = Twisters([torch.Generator().manual_seed(seed) for seed in seeds])
    each = [torch.Generator().manual_seed(seed) for seed in seeds]
    for shape in ((3, 5), (64, 10), (1,), (1300, 2)):
        assert torch.equal(rand(together, *shape), torch.stack([rand(generator, *shape) for generator in each]))


def test_the_mersenne_twister_is_that_of_numpy():
    """5489 is the seed of the published reference implementation, whose words numpy gives."""
    words = np.random.RandomState(5489).randint(0, 2**32, 2000, dtype=np.uint64)
    drawn = Twisters([torch.Generator().manual_seed(5489)]).rand(2000)[0]
    assert torch.equal(drawn, torch.from_numpy((words & 0xFFFFFF).astype(np.float32) / 2**24))
