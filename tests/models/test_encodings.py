import math

import pytest
import torch

from support.models import DIMS, at, build
from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.plain import alibi_slopes


def test_nope_leaves_everything_as_it_is():
    nope, positions = build("nope"), torch.arange(5).view(1, 1, 5)
    h, q = torch.randn(1, 3, 5, 8), torch.randn(1, 3, 5, 2, 4)
    assert torch.equal(nope.embed(h, positions), h)
    assert torch.equal(nope.rotate(q, positions), q)
    assert nope.sharpen(positions) is None
    assert nope.bias(positions.mT[None], positions[None].expand(1, 1, 5, 5)) is None


def test_alibi_slopes_equal_the_published_ones():
    # Press et al., section 3: for 8 heads 1/2 ... 1/2^8; for 16 heads 2^-0.5, 2^-1, ..., 2^-8.
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert alibi_slopes(16).tolist() == pytest.approx([2 ** (-i / 2) for i in range(1, 17)])
    # The authors' release for 12 heads: the 8 slopes, then every other one of the 16.
    twelve = [2.0**-i for i in range(1, 9)] + [2 ** (-i / 2) for i in (1, 3, 5, 7)]
    assert alibi_slopes(12).tolist() == pytest.approx(twelve)
    assert alibi_slopes(1).tolist() == [2.0**-8]


def test_alibi_lowers_logits_by_slope_times_distance():
    bias = build("alibi").bias(torch.tensor([[[[3]]]]), torch.tensor([[[[0, 1, 2, 3]]]]))
    assert bias[0, 0, :, 0].tolist() == [[-3 * s, -2 * s, -s, 0] for s in (2.0**-4, 2.0**-8)]
    steeper = build("alibi", slope=2.0).bias(torch.tensor([[[[3]]]]), torch.tensor([[[[0, 1, 2, 3]]]]))
    assert steeper.equal(2 * bias)


def test_sinusoidal_by_hand():
    added = build("sinusoidal", Dims(width=4, heads=1)).embed(torch.zeros(1, 1, 3, 4), at(0, 1, 100))[0, 0]
    assert added[0].tolist() == [0, 1, 0, 1]
    assert added[1].tolist() == pytest.approx([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)])
    assert added[2].tolist() == pytest.approx([math.sin(100), math.cos(100), math.sin(1), math.cos(1)])


def test_rope_turns_by_hand_and_keeps_lengths():
    rope = build("rope", Dims(width=2, heads=1))
    turned = rope.rotate(torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 1, 2), at(3))
    assert turned.flatten().tolist() == pytest.approx([math.cos(3), math.sin(3)])
    q = torch.randn(1, 2, 5, 2, 4)
    torch.testing.assert_close(build("rope").rotate(q, at(*range(5))).norm(dim=-1), q.norm(dim=-1))


def test_partial_rope_turns_the_first_dimensions():
    v, positions = torch.randn(1, 2, 5, 2, 8, generator=torch.Generator().manual_seed(0)), at(*range(5))
    dims = Dims(16, 2)
    turned = build("partial_rope", dims, share=0.6).rotate(v, positions)  # 4.8 of 8: two pairs
    assert torch.equal(turned[..., 4:], v[..., 4:])
    assert torch.equal(turned[..., :4], build("rope", Dims(4, 1)).rotate(v[..., :4], positions))
    whole = build("partial_rope", dims, share=1.0).rotate(v, positions)
    assert torch.equal(whole, build("rope", dims).rotate(v, positions))


def test_t5_buckets_by_hand():
    # 32 one-directional buckets up to 128: one each below 16, then 16 + floor(16 log(d / 16) / log(8)), at most 31.
    distance = torch.tensor([0, 1, 15, 16, 17, 18, 20, 32, 64, 127, 128, 1000, -3])
    expected = [0, 1, 15, 16, 16, 16, 17, 21, 26, 31, 31, 31, 0]
    assert build("t5").bucket(distance).tolist() == expected


def test_t5_reads_its_bias_from_the_bucket_of_the_distance():
    t5 = build("t5", DIMS._replace(models=2))
    bias = t5.bias(torch.tensor([[[[5], [40]]]]), torch.tensor([[[[0, 5], [0, 39]]]]))
    for model in range(2):
        assert torch.equal(bias[model, 0, :, 0, 0], t5.biases[model, 5])
        assert torch.equal(bias[model, 0, :, 0, 1], t5.biases[model, 0])
        assert torch.equal(bias[model, 0, :, 1, 1], t5.biases[model, 1])


def test_learned_adds_the_vector_of_the_position():
    learned = build("learned", DIMS._replace(models=2), table=64)
    h = torch.randn(2, 5, 3, 8)
    added = learned.embed(h, at(4, 0, 63)) - h
    torch.testing.assert_close(added, learned.vectors[:, None, [4, 0, 63]].expand(2, 5, 3, 8))
    assert learned.longest() == 64


def test_randomized_positions_are_random_subsets():
    randomized = build("randomized", span=10)
    lengths = torch.tensor([3, 5, 10] * 2000)
    drawn = randomized.positions(lengths, 10, torch.Generator().manual_seed(0))
    for row, length in zip(drawn[:30].tolist(), lengths.tolist(), strict=False):
        used = row[:length]
        assert used == sorted(set(used))
        assert 0 <= used[0] <= used[-1] < 10
        assert row[length:] == [used[-1]] * (10 - length)  # the rest is filled up
    assert (drawn[2::3] == torch.arange(10)).all()  # all ten of ten
    # Each of the ten positions is as likely as the others to be among the three of a text of 3 tokens.
    shares = torch.bincount(drawn[0::3, :3].flatten(), minlength=10) / 2000
    assert shares.tolist() == pytest.approx([0.3] * 10, abs=0.04)


NTK = {"name": "dynamic_ntk", "base": 100.0, "factor": 1.0, "trained": 8}
LEARNED = {"name": "learned", "table": 32, "scale": 1.0}


@pytest.mark.parametrize(
    ("name", "dims", "changed", "message"),
    [
        ("rope", Dims(12, 4), {}, "model.heads=4: "),
        ("sinusoidal", Dims(7, 1), {}, "model.width=7: "),
        ("t5", DIMS, {"furthest": 16}, "encoding.furthest=16: "),
        ("randomized", DIMS, {"span": 64, "inner": LEARNED}, "span=64: "),
        ("dape", DIMS, {"inner": {"name": "nope"}}, "encoding.inner=nope: has no bias"),
        ("randomized", DIMS, {"inner": {"name": "rope"}}, "encoding.inner.base: "),
        ("randomized", DIMS, {"inner": NTK}, "encoding.inner=dynamic_ntk: "),
        ("partial_rope", DIMS, {"share": 0.4}, "encoding.share=0.4: "),
        ("ntk", Dims(8, 4), {}, "model.heads=4: "),
        ("clex", Dims(8, 4), {}, "model.heads=4: "),
        ("yarn", Dims(8, 2), {"slow": 32.0}, "encoding.slow=32.0: "),
        ("longrope", DIMS, {"long": [1.0]}, r"encoding.long=\[1.0\]: "),
        ("self_extend", DIMS, {"window": 10, "group": 4}, "encoding.window=10: "),
    ],
)
def test_what_does_not_fit_is_refused(name, dims, changed, message):
    with pytest.raises(InputError, match=message):
        build(name, dims, **changed)
