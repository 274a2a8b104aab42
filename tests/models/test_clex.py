"""CLEX: untrained it is NTK, trained it solves its differential equation."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.models import at, build
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.clex import CLEX


def clex(width: int = 16, models: int = 1, std: float = 0.0, **changed) -> CLEX:
    """CLEX of one head; its second matrix is drawn from N(0, std^2)."""
    encoding = build("clex", Dims(width, 1, models), **changed)
    encoding.down.data.normal_(std=std, generator=torch.Generator().manual_seed(0))
    return encoding


@given(pairs=st.integers(2, 64), base=st.floats(2, 1e6), factor=st.integers(1, 16), trained=st.integers(1, 1000))
def test_untrained_it_is_ntk_of_factor_2t_minus_1(pairs, base, factor, trained):
    width = 2 * pairs
    encoding = clex(width, base=base, factor=factor, trained=trained, steps=1)
    for t in range(1, factor + 1):
        ntk = build("ntk", Dims(width, 1), base=base, factor=2.0 * t - 1).frequencies(width)
        for length in (t * trained, (t - 1) * trained + 1):
            torch.testing.assert_close(encoding.table([length], width)[0, 0], ntk, rtol=1e-13, atol=0)


@pytest.mark.parametrize(("length", "factor"), [(1, 1), (64, 1), (65, 2), (128, 2), (129, 3), (256, 4), (9999, 4)])
def test_length_factors(length, factor):
    assert clex().factor_of(length) == factor


@pytest.mark.parametrize("width", [8, 16, 64])
@pytest.mark.parametrize("std", [0.02, 0.1, 0.3])
def test_the_default_step_is_fine_enough_for_large_weights(width, std):
    encoding = clex(width, std=std)
    found = encoding.learned_logs(width)
    encoding.steps *= 40
    fine = encoding.learned_logs(width)
    assert fine.abs().max() > 5 * std  # the weights matter: a frequency changes by e to the power of that
    assert (found - fine).abs().max() < 1e-5


@pytest.mark.parametrize("width", [4, 16])
def test_the_solution_is_that_of_the_paper_s_equation(width):
    encoding = clex(width, std=0.1)
    up, down = (each.detach().double().numpy()[0] for each in (encoding.up, encoding.down))
    index = np.arange(0, width, 2)
    log_theta = -index / width * math.log(10_000)

    def change(t: float, z: np.ndarray) -> np.ndarray:
        log_nu = log_theta - index / (width - 2) * math.log(2 * t - 1)
        return np.tanh((z + log_nu) @ up) @ down - 2 * index / ((width - 2) * (2 * t - 1))

    z, steps = log_theta, 2000  # from one whole factor to the next, by the midpoint method, of order 2
    for t in range(1, 5):
        found = encoding.table([64 * t], width)[0, 0].log().detach().numpy()
        np.testing.assert_allclose(found, z, rtol=0, atol=1e-5)
        for step in range(steps):
            now = t + step / steps
            z = z + change(now + 0.5 / steps, z + 0.5 / steps * change(now, z)) / steps


def test_both_matrices_are_drawn_as_in_the_release():
    first, other = clex(64, models=2, hidden=2), clex(64, hidden=2)
    assert first.up.shape == (2, 32, 128)
    assert torch.equal(first.up[:1], other.up)
    assert not torch.equal(first.up[0], first.up[1])
    # Uniform within 1 / sqrt(hidden units), whose standard deviation is that over sqrt(3).
    assert first.up.abs().max().item() == pytest.approx(128**-0.5, rel=0.01)
    assert first.up.std().item() == pytest.approx((3 * 128) ** -0.5, rel=0.02)
    assert not first.down.any()


def test_gradients_reach_both_matrices():
    encoding, v = clex(models=2), torch.randn(2, 3, 4, 1, 16, generator=torch.Generator().manual_seed(0))

    def gradients(*positions: int) -> list[bool]:
        encoding.zero_grad()
        encoding.rotate(v, at(*positions))[..., 0].sum().backward()
        return [bool(each.grad.flatten(1).any(1).all()) for each in (encoding.up, encoding.down)]

    assert gradients(0, 9, 50, 63) == [False, False]
    assert gradients(0, 9, 50, 200) == [False, True]  # times the second matrix, which is 0
    encoding.down.data -= 1e-4 * encoding.down.grad
    assert gradients(0, 9, 50, 200) == [True, True]


def test_models_have_the_frequencies_of_their_own_weights():
    encoding = clex(models=3, std=0.2)
    together = encoding.table([64, 200], 16)
    for index in range(3):
        one = clex()
        one.up.data, one.down.data = (each.data[index : index + 1] for each in (encoding.up, encoding.down))
        assert torch.equal(one.table([64, 200], 16)[0], together[index])
    assert not torch.allclose(together[0, 1], together[1, 1])
    assert torch.equal(together[0, 0], together[1, 0])
