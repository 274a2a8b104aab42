"""Maps of relative positions, by hand and against direct implementations that rotate two or three times, and mask."""

import math

import pytest
import torch

from support.models import at, build, model, symbols
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, add_products
from synthlab.models.encodings.relative_maps import RelativeRoPE

NAMES = [name for name, encoding in ENCODINGS.items() if issubclass(encoding, RelativeRoPE)]
LONG = 40  # tokens: more than all windows and chunks below
NEAR = {  # windows and chunks so short that far tokens are many
    "self_extend": {"window": 8, "group": 4},
    "rerope": {"window": 6, "scaled": False},
    "leaky_rerope": {"window": 6, "factor": 2.5, "scaled": False},
    "dual_chunk": {"trained": 16},
}
WIDE = {  # no two of LONG tokens are far apart
    "self_extend": {"window": 40},
    "rerope": {"window": 39, "scaled": False},
    "leaky_rerope": {"window": 39, "scaled": False},
    "dual_chunk": {"trained": 64},  # one chunk of 40 tokens
}
HEADS, HEAD = 2, 4
DIMS = Dims(HEADS * HEAD, HEADS)
BEFORE = torch.ones(LONG, LONG, dtype=torch.bool).tril()


def distances(name: str, query: int, keys: list[int], **changed) -> list[float]:
    encoding = build(name, **NEAR[name] | changed)
    return encoding.distance(torch.tensor([[[[query]]]]), torch.tensor([[[keys]]])).flatten().tolist()


def vectors() -> torch.Tensor:
    """Queries and keys [2, 1, 1, LONG, HEADS, HEAD]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 1, 1, LONG, HEADS, HEAD, generator=generator, dtype=torch.float64)


def rotated(v: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    return build("rope", DIMS).rotate(v, positions.view(1, 1, -1))


def product(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ebqhd,ebkhd->ebhqk", q, k)


def found(name: str, **changed) -> torch.Tensor:
    """The products of the encoding, [1, 1, HEADS, LONG, LONG]; 0 for keys after the query."""
    encoding, positions = build(name, DIMS, **changed), at(*range(LONG))
    q, k = (encoding.rotate(each, positions).transpose(2, 3) for each in vectors())
    relative = encoding.relative(positions[..., None], positions[..., None, :].expand(1, 1, LONG, LONG))
    return add_products(encoding.products(q, k, relative), lambda q, k: q @ k.mT) * BEFORE


def direct(name: str) -> torch.Tensor:
    """The same as the papers compute it, for the settings of ``NEAR``: each position is rotated to at most three
    places, and masks choose between the products."""
    q, k = vectors()
    place = torch.arange(LONG)
    exact = product(rotated(q, place), rotated(k, place))
    gap = place[:, None] - place
    if name == "self_extend":
        window, group = 8, 4
        far = product(rotated(q, place // group + window - window // group), rotated(k, place // group))
        return torch.where(gap < window, exact, far) * BEFORE
    if name == "rerope":
        far = product(rotated(q, torch.full((LONG,), 6)), k)
        return torch.where(gap < 6, exact, far) * BEFORE
    if name == "leaky_rerope":
        slow = build("pi", DIMS, factor=2.5)  # 6 + (gap - 6) / 2.5 = (gap + 9) / 2.5
        far = product(slow.rotate(q, (place + 9).view(1, 1, -1)), slow.rotate(k, place.view(1, 1, -1)))
        return torch.where(gap < 6, exact, far) * BEFORE
    chunk, cap = 10, 12  # of 16: 3/4 and 1/8 less
    k = rotated(k, place % chunk)
    intra = product(rotated(q, place % chunk), k)
    successive = product(rotated(q, (place % chunk + chunk).clamp(max=cap)), k)
    inter = product(rotated(q, torch.full((LONG,), cap)), k)
    chunks = place[:, None] // chunk - place // chunk
    return torch.where(chunks == 0, intra, torch.where(chunks == 1, successive, inter)) * BEFORE


def test_maps_by_hand():
    # 8 - 8 / 4 = 6 is added to the difference of groups: query 13 is of group 3.
    assert distances("self_extend", 13, [13, 6, 5, 4, 3, 0]) == [0, 7, 8, 8, 9, 9]
    assert distances("rerope", 13, [13, 8, 7, 6, 0]) == [0, 5, 6, 6, 6]
    assert distances("leaky_rerope", 13, [13, 7, 6, 3, 0]) == pytest.approx([0, 6, 6.4, 7.6, 8.8])
    # Chunks of 10 tokens, positions up to 12. Query 11 has place 1; seen from the chunk before it, 11. Query 14 has
    # min(14, 12) = 12 there, and query 20 has 12 two chunks back.
    assert distances("dual_chunk", 11, [11, 10, 9, 0]) == [0, 1, 2, 11]
    assert distances("dual_chunk", 14, [14, 9, 0]) == [0, 3, 12]
    assert distances("dual_chunk", 20, [20, 19, 10, 9, 0]) == [0, 1, 10, 3, 12]
    assert distances("dual_chunk", 8, [0], trained=8) == [6]  # chunks of 5, cap of 6: never 2 * 5 - 1


@pytest.mark.parametrize("name", NAMES)
def test_products_equal_those_of_the_papers(name):
    expected = direct(name)
    torch.testing.assert_close(found(name, **NEAR[name]), expected)
    assert not torch.allclose(expected, found(name, **WIDE[name]))


@pytest.mark.parametrize("name", NAMES)
def test_a_window_as_long_as_the_text_is_plain_rope(name):
    q, k = (rotated(v, torch.arange(LONG)) for v in vectors())
    # Not to the last bit: RoPE rotates both and then multiplies, the map rotates by the difference.
    torch.testing.assert_close(found(name, **WIDE[name]), product(q, k) * BEFORE)


@pytest.mark.parametrize("name", NAMES)
def test_distances_stay_within_those_of_training(name):
    # Of 64 trained positions, as the defaults are meant, in texts four times as long.
    place = torch.arange(256)
    far = build(name).distance(place.view(1, 1, -1, 1), place.view(1, 1, 1, -1).expand(1, 1, 256, -1))
    seen = far[0, 0][torch.ones(256, 256, dtype=torch.bool).tril()]
    assert seen.min() >= 0
    assert seen.max() < 64
    assert (far.diagonal(dim1=-2, dim2=-1) == 0).all()


@pytest.mark.parametrize("name", ["rerope", "leaky_rerope"])
def test_logits_are_scaled_beyond_training(name):
    scale = build(name, trained=64).sharpen(at(0, 63, 64, 255, 4095)).flatten().tolist()
    assert scale == pytest.approx([1, 1, math.log(65) / math.log(64), 4 / 3, 2])
    assert build(name, scaled=False).sharpen(at(0, 63)) is None


def test_randomized_positions_can_have_a_map():
    inner = {"name": "rerope", "base": 10_000.0, "window": 1000, "trained": 64, "scaled": False}
    mapped, plain = (build("randomized", inner=each) for each in (inner, {"name": "rope", "base": 10_000.0}))
    net, x = model("randomized"), symbols()
    answers = [net(x, torch.arange(0, 33, 3).expand(1, 5, -1)) for net.encoding in (mapped, plain)]
    torch.testing.assert_close(*answers)
