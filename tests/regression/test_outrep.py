import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.configs import composed
from synthlab.errors import InputError
from synthlab.regression.outrep import OUTREPS, OutRep

MAPS = [
    *(composed(f"outrep={name}", "outrep.shift=0.0")["outrep"] for name in OUTREPS),  # a new map joins by itself
    *({"name": "power", "shift": 0.0, "p": p} for p in (-2.0, 0.3, 1.0)),
]
maps = pytest.mark.parametrize("config", MAPS, ids=lambda c: c["name"] + str(c.get("p", "")))
anywhere = st.floats(-1e6, 1e6)


def built(config: dict) -> OutRep:
    return OUTREPS.build(config)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("name", "at_4"),
    [
        *(("identity", 4), ("sqrt", 2), ("log", math.log(4)), ("rlog", 1 / math.log(5))),
        *(("rsqrt", 0.5), ("reciprocal", 0.25)),
    ],
)
def test_values_by_hand(name, at_4):
    assert built({"name": name, "shift": 0.0}).forward(tensor(4.0)).item() == pytest.approx(at_4)


@maps
@given(y=st.floats(1e-2, 1e4), shift=st.floats(0, 10))
def test_the_inverse_undoes_the_map_over_its_domain(config, y, shift):
    outrep = built(config | {"shift": shift})
    assert outrep.inverse(outrep.forward(tensor(y))).item() == pytest.approx(y, rel=1e-8, abs=1e-8 * (shift + 1))


@maps
@given(z=st.floats(1e-1, 10))
def test_the_map_undoes_its_inverse_over_its_image(config, z):
    outrep = built(config)
    assert outrep.forward(outrep.inverse(tensor(z))).item() == pytest.approx(z, rel=1e-8)


@maps
@given(y=anywhere)
def test_the_domain_is_where_the_map_reaches_its_image_and_can_be_undone(config, y):
    if 0 < abs(y) < 1e-6:
        return  # powers of tiny numbers leave the range of doubles, which is no matter of the domain
    outrep = built(config)
    z = outrep.forward(tensor(y))
    undone = abs(outrep.inverse(z).item() - y) <= 1e-6 * abs(y)
    assert outrep.domain.contains(tensor(y)).item() == (undone and outrep.image.contains(z).item())


@maps
@given(a=st.floats(1e-2, 1e4), b=st.floats(1e-2, 1e4))
def test_every_map_is_strictly_monotone_as_it_says(config, a, b):
    outrep = built(config)
    low, high = sorted((a, b))
    if high - low > 1e-6 * high:
        difference = (outrep.forward(tensor(high)) - outrep.forward(tensor(low))).item()
        assert (difference > 0) == outrep.increasing
        assert difference != 0


@maps
@given(z=anywhere, largest=st.floats(1, 1e5))
def test_clipping_leaves_only_outputs_with_an_answer_up_to_the_largest(config, z, largest):
    outrep = built(config)
    clipped = outrep.clip(tensor(z), largest)
    answer = outrep.inverse(clipped)
    assert answer.item() <= largest * (1 + 1e-9)
    # It moves only what needs moving, and a second time nothing.
    assert torch.equal(outrep.clip(clipped, largest), clipped)
    if outrep.image.contains(tensor(z)) and outrep.inverse(tensor(z)).item() <= largest * (1 - 1e-9):
        assert torch.equal(clipped, tensor(z))


@pytest.mark.parametrize(("z", "expected"), [(-0.01, 0.1), (0.0, 0.1), (0.05, 0.1), (0.2, 0.2), (3.0, 3.0)])
def test_an_output_below_the_image_of_rsqrt_is_read_as_the_largest_answer(z, expected):
    assert built({"name": "rsqrt", "shift": 0.0}).clip(tensor(z), largest=100.0).item() == pytest.approx(expected)


@maps
def test_the_default_shift_takes_the_smallest_target_into_the_domain(config):
    outrep = built(config)
    for smallest in (0.0, 1.0):
        shift = outrep.default_shift(smallest)
        assert outrep.domain.contains(tensor(smallest + shift))
    assert built({"name": "rsqrt", "shift": None}).default_shift(0.0) == 1.0
    assert built({"name": "sqrt", "shift": None}).default_shift(0.0) == 0.0


@pytest.mark.parametrize(("name", "p"), [("sqrt", 0.5), ("rsqrt", -0.5), ("reciprocal", -1.0), ("identity", 1.0)])
def test_the_power_family_contains_the_named_maps(name, p):
    y = torch.linspace(0.5, 50, 100, dtype=torch.float64)
    power = built({"name": "power", "shift": 0.0, "p": p})
    torch.testing.assert_close(power.forward(y), built({"name": name, "shift": 0.0}).forward(y))


def test_power_zero_is_refused():
    with pytest.raises(InputError, match=r"outrep\.p=0: must not be 0"):
        built({"name": "power", "shift": 0.0, "p": 0.0})
