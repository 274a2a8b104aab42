import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.configs import composed
from synthlab.errors import InputError
from synthlab.numbers.outrep import OUTREPS, LearnedOutRep, OutRep, OutRepModule
from synthlab.numbers.outrep.learned import grow

MAPS = [
    *(composed(f"outrep={name}", "outrep.shift=0.0")["outrep"] for name in OUTREPS),  # a new map joins by itself
    *({"name": "power", "shift": 0.0, "p": p} for p in (-2.0, 0.3, 1.0)),
    *({"name": "box_cox", "shift": 0.0, "start": p} for p in (-1.0, 0.0, 1e-5, 0.5)),
    CHAIN := {"name": "monotone", "shift": 0.0, "start": [1.0, -1.5, 0.0, -0.9], "pieces": 4, "knots": [1, 2, 4, 8]},
]
maps = pytest.mark.parametrize("config", MAPS, ids=lambda c: c["name"] + str(c.get("p", c.get("start", ""))))
anywhere = st.floats(-1e6, 1e6)


def built(config: dict) -> OutRep:
    """The map; a learned one of one model, with the exponents ``start``, which may be several."""
    start = config.get("start")
    outrep = OUTREPS.build(config | ({"start": 1.0} if isinstance(start, list) else {}))
    if isinstance(outrep, OutRepModule):
        outrep.initialise([torch.Generator()])
    if isinstance(start, list):
        outrep.exponent.data[:] = torch.tensor(start)
    return outrep


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("config", "at_4"),
    [
        *(({"name": "identity"}, 4), ({"name": "sqrt"}, 2), ({"name": "log"}, math.log(4))),
        *(({"name": "rlog"}, 1 / math.log(5)), ({"name": "rsqrt"}, 0.5), ({"name": "reciprocal"}, 0.25)),
        *(({"name": "power", "p": p}, 4**p) for p in (-1.0, -0.5, 0.5)),
        *(({"name": "box_cox", "start": p}, at) for p, at in ((-1.0, 0.75), (0.0, math.log(4)), (0.5, 2.0))),
    ],
)
def test_values_by_hand(config, at_4):
    assert built(config | {"shift": 0.0}).forward(tensor(4.0)).item() == pytest.approx(at_4)


@maps
@given(y=st.floats(1e-2, 1e4), shift=st.floats(0, 10))
def test_inverse_undoes_the_map(config, y, shift):
    outrep = built(config | {"shift": shift})
    assert outrep.inverse(outrep.forward(tensor(y))).item() == pytest.approx(y, rel=1e-8, abs=1e-8 * (shift + 1))


@maps
@given(y=anywhere)
def test_domain_is_where_a_map_can_be_undone(config, y):
    if 0 < abs(y) < 1e-6:
        return  # powers of tiny numbers leave the range of doubles, which is no matter of the domain
    outrep = built(config)
    z = outrep.forward(tensor(y))
    undone = abs(outrep.inverse(z).item() - y) <= 1e-6 * abs(y)
    assert outrep.domain.contains(tensor(y)).item() == (undone and outrep.image.contains(z).item())


@maps
@given(a=st.floats(1e-2, 1e4), b=st.floats(1e-2, 1e4))
def test_maps_are_strictly_monotone(config, a, b):
    outrep = built(config)
    low, high = sorted((a, b))
    if high - low > 1e-6 * high:
        difference = (outrep.forward(tensor(high)) - outrep.forward(tensor(low))).item()
        assert (difference > 0) == outrep.increasing
        assert difference != 0


@maps
@given(z=anywhere, largest=st.floats(1, 1e5))
def test_clipping(config, z, largest):
    outrep = built(config)
    clipped = outrep.clip(tensor(z), largest)
    answer = outrep.inverse(clipped)
    assert answer.item() <= largest * (1 + 1e-9)
    # It moves only what needs moving, and a second time nothing.
    assert torch.equal(outrep.clip(clipped, largest), clipped)
    if outrep.image.contains(tensor(z)) and outrep.inverse(tensor(z)).item() <= largest * (1 - 1e-9):
        assert torch.equal(clipped, tensor(z))


@maps
def test_default_shift_reaches_the_domain(config):
    outrep = built(config)
    for smallest in (0.0, 1.0):
        shift = outrep.default_shift(smallest)
        assert outrep.domain.contains(tensor(smallest + shift))
    assert built({"name": "rsqrt", "shift": None}).default_shift(0.0) == 1.0
    assert built({"name": "sqrt", "shift": None}).default_shift(0.0) == 0.0


def test_a_chain_of_powers_has_its_exponents():
    """log(x f'(x)) against log x, by differences; the knots are at 1, 2, 4 and 8."""
    chain = built(CHAIN)
    for x, exponent in ((0.3, 1.0), (1.5, 1.0), (3.0, -1.5), (6.0, 0.0), (100.0, -0.9)):
        near = tensor(x * 0.99, x, x * 1.01)[None]
        slopes = chain.log_slope(near)[0] + near[0].log()
        assert ((slopes[2] - slopes[0]) / math.log(1.01 / 0.99)).item() == pytest.approx(exponent, abs=1e-6)


def test_a_chain_of_powers_is_smooth_at_its_knots():
    chain = built(CHAIN)
    for knot in (2.0, 4.0, 8.0):
        sides = tensor(knot * (1 - 1e-9), knot * (1 + 1e-9))
        assert chain.forward(sides).diff().item() == pytest.approx(0, abs=1e-6)
        assert chain.log_slope(sides[None]).diff().item() == pytest.approx(0, abs=1e-6)


@given(x=st.floats(1e-2, 1e3))
def test_the_slope_of_a_learned_map_is_its_derivative(x):
    chain = built(CHAIN)
    by_hand = chain.log_slope(tensor(x)[None]).item()
    assert LearnedOutRep.log_slope(chain, tensor(x)[None]).item() == pytest.approx(by_hand, abs=1e-9)


def test_gradient_of_box_cox_at_zero():
    m, d = tensor(0.0, 1e-8, 1e-3, -0.5).requires_grad_(), tensor(2.0, -1.0, 1.5, 3.0).requires_grad_()
    assert torch.autograd.gradcheck(grow, (m, d))
    (slope,) = torch.autograd.grad(grow(m, d)[0], m)
    assert slope[0].item() == 2.0  # d^2 / 2


def test_loss_ranks_exponents_as_the_likelihood():
    """Against the profile log-likelihood of Gaussian errors, written out: log(variance) / 2 - mean(log f')."""
    noise = torch.randn(2000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = (3 + 0.1 * noise).exp()  # log-normal: the most likely exponent is about 0
    losses, likelihoods = [], []
    for p in (-1.0, -0.5, 0.0, 0.5, 1.0):
        outrep, weights = built({"name": "box_cox", "shift": 0.0, "start": p}), torch.ones(1, 1, 1, dtype=y.dtype)
        z = outrep.forward(y)
        variance = z.var(correction=0)
        losses.append((variance * outrep.loss_scale(y[None, :, None], weights)).item())
        likelihoods.append((-0.5 * variance.log() + (p - 1) * y.log().mean()).item())
    assert np.argsort(losses).tolist() == np.argsort(likelihoods)[::-1].tolist()
    assert np.log(losses) == pytest.approx(-2 * np.array(likelihoods))
    assert np.argmin(losses) == 2


CHOSEN = {"name": "chosen", "shift": None, "held_out": 0.2}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "power", "shift": 0.0, "p": 0.0}, "outrep.p=0: "),
        (CHAIN | {"start": 1.0, "knots": [1, 2, 2, 4]}, "outrep.knots="),
        (CHOSEN | {"candidates": ["log", {"name": "box_cox", "start": 1.0}]}, "box_cox start=1.0: "),
    ],
)
def test_maps_that_cannot_be_are_refused(config, message):
    with pytest.raises(InputError, match=message):
        built(config)
