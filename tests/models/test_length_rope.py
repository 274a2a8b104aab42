"""Frequencies that depend on the length of the text: by hand and by law."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.models import DIMS, at, build, model, symbols
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.layers import Member
from synthlab.models.reference import predict_prefixes
from synthlab.numbers.evaluation import readouts

NAMES = [name for name, encoding in ENCODINGS.items() if issubclass(encoding, LengthRoPE)]


def table(name: str, lengths: list[int], width: int = 4, **changed) -> torch.Tensor:
    return build(name, Dims(width, 1), **changed).table(lengths, width)[0]


def test_dynamic_ntk_by_hand():
    # 128 tokens: 2 * 128 / 64 - 1 = 3, 256 tokens: 2 * 4 - 1 = 7; of two frequencies the second is divided by that.
    found = table("dynamic_ntk", [1, 64, 128, 256], factor=2.0)
    assert found[:, 0].tolist() == [1, 1, 1, 1]
    assert found[:, 1].tolist() == pytest.approx([0.01, 0.01, 0.01 / 3, 0.01 / 7])


def test_longrope_by_hand():
    longrope = build("longrope", DIMS, short=[1.0, 2.0], long=[3.0, 8.0])
    assert longrope.table([64, 65], 4)[0].flatten().tolist() == pytest.approx([1, 0.01 / 2, 1 / 3, 0.01 / 8])
    # ln 4 / ln 64 = 1/3, for short texts too.
    assert longrope.sharpen(at(0, 99)).flatten().tolist() == pytest.approx([4 / 3, 4 / 3])
    unset = build("longrope", Dims(8, 1))
    assert torch.equal(unset.table([64], 8)[0, 0], build("rope", Dims(8, 1)).frequencies(8))
    assert torch.equal(unset.table([65], 8)[0, 0], build("pi", Dims(8, 1)).frequencies(8))


@pytest.mark.parametrize("name", NAMES)
@given(pairs=st.integers(2, 64), base=st.floats(2, 1e6), length=st.integers(1, 64))
def test_within_the_training_length_it_is_rope(name, pairs, base, length):
    encoding = build(name, Dims(2 * pairs, 1), base=base)
    plain = build("rope", Dims(2 * pairs, 1), base=base).frequencies(2 * pairs)
    assert torch.equal(encoding.table([length], 2 * pairs)[0, 0], plain)
    assert torch.equal(encoding.frequencies(2 * pairs), plain)


@pytest.mark.parametrize("name", NAMES)
def test_rows_have_frequencies_of_their_own(name):
    encoding = build(name, DIMS._replace(models=2), trained=8)
    v = torch.randn(2, 3, 6, 2, 4, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 2, 4, 6, 8, 13], [0, 3, 9, 11, 20, 31]])[None]
    assert torch.equal(encoding.frequencies_at(positions, 4).squeeze(-2), encoding.table([6, 14, 32], 4))
    together = encoding.rotate(v, positions)
    for row in range(3):
        one = encoding.rotate(v[:, row : row + 1], positions[:, row : row + 1])
        assert torch.equal(together[:, row], one[:, 0])
    assert not torch.allclose(together, build("rope").rotate(v, positions))
    assert torch.equal(together[:, 0], build("rope").rotate(v, positions)[:, 0])


@pytest.mark.parametrize("name", NAMES)
def test_alike_up_to(name):
    encoding = build(name, DIMS, trained=4)
    longest = 20  # 5 times as long as in training; the largest factor is 4
    rows = encoding.table(range(1, longest + 1), 4)[0]
    for length in range(1, longest + 1):
        same = [other for other in range(length, longest + 1) if torch.equal(rows[other - 1], rows[length - 1])]
        assert min(encoding.alike_up_to(length), longest) == max(same)


@pytest.mark.parametrize("name", NAMES)
def test_readouts_are_those_of_each_prefix(name):
    net, x = model(name), symbols()[0]
    net.encoding = build(name, Dims(16, 4), trained=3)
    assert not net.encoding.packs
    with torch.no_grad():
        found = readouts(Member(net, 0), x, torch.Generator())
        single = predict_prefixes(net, x)
        torch.testing.assert_close(found, single, rtol=0, atol=1e-5)
        assert not torch.allclose(net(x[None])[0], single, rtol=0, atol=1e-4)  # what a packed row would give
