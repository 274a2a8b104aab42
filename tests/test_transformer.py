"""The packed Transformer against an independent reading of the same weights, one prefix at a time."""

import math
from functools import partial

import pytest
import torch
from test_encodings import build
from torch.nn import functional as F

from synthlab.encodings import ENCODINGS
from synthlab.errors import InputError
from synthlab.linear_attention import LinearAttention
from synthlab.packing import BOS, EOS
from synthlab.streams import stream
from synthlab.transformer import Transformer

LENGTH = 9
KINDS, NORMS = ("softmax", "linear"), ("pre", "post", "none")


def model(encoding: str = "nope", **changed) -> Transformer:
    sizes = {"width": 16, "depth": 2, "heads": 4, "mlp_ratio": 2.0, "norm": "pre", "attention": "softmax"}
    make_encoding = partial(build, encoding)
    return Transformer(make_encoding, stream(0, "initial"), **(sizes | {"init_scale": 1.0} | changed))


def symbols(seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 2, (5, LENGTH), generator=torch.Generator().manual_seed(seed))


def alone(net: Transformer, prefix: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """The readout of [BOS, prefix, EOS] by a plain causal Transformer over all tokens, nothing packed or skipped."""
    bos, eos = prefix.new_full((len(prefix), 1), BOS), prefix.new_full((len(prefix), 1), EOS)
    tokens = torch.cat((bos, prefix, eos), 1)
    count, encoding = tokens.shape[1], net.encoding
    h = encoding.embed(net.tokens(tokens), positions)
    for block in net.blocks:
        attention, stream_in = block.attention, block.pre1(h)
        q = attention.queries(stream_in).unflatten(-1, (attention.heads, -1))
        k, v = attention.keys_values(stream_in).chunk(2, -1)
        k, v = (t.unflatten(-1, (attention.heads, -1)) for t in (k, v))
        q, k, v = (t.transpose(1, 2) for t in (encoding.rotate(q, positions), encoding.rotate(k, positions), v))
        bias = encoding.bias(positions[..., :, None], positions[..., None, :].expand(*positions.shape, -1))
        causal = torch.ones(count, count, dtype=torch.bool).tril()
        if attention.kind == "softmax":
            mask = torch.zeros(count, count).masked_fill(~causal, -math.inf)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask if bias is None else mask + bias)
        else:
            products = q @ k.mT if bias is None else q @ k.mT + bias
            mixed = (products * causal / torch.arange(1, count + 1)[:, None]) @ v
        h = block.post1(h + attention.output(mixed.transpose(1, 2).flatten(-2)))
        h = block.post2(h + block.mlp(block.pre2(h)))
    return net.readout(net.norm(h[:, -1])).squeeze(-1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENCODINGS)
def test_packed_outputs_equal_those_of_each_prefix_alone(name, kind, norm):
    net, x = model(name, attention=kind, norm=norm), symbols()
    positions = net.encoding.positions(torch.full((len(x),), LENGTH), LENGTH + 2, stream(0, "positions"))
    packed = net(x, positions)
    single = torch.stack([alone(net, x[:, :k], positions[:, : k + 2]) for k in range(1, LENGTH + 1)], 1)
    # Linear attention without normalization puts out hundreds; rounding grows in proportion.
    torch.testing.assert_close(packed, single, rtol=0, atol=1e-5 * max(1, packed.abs().max().item()))
    assert packed.std() > 1e-3  # equal, and not because all is constant
    if not net.encoding.draws_positions:
        assert torch.equal(net(x), net(x, positions))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENCODINGS)
def test_no_readout_sees_what_comes_after_its_prefix(name, kind):
    net, x = model(name, attention=kind), symbols()
    changed = x.clone()
    changed[:, 4:] = 1 - changed[:, 4:]
    before, after = net(x), net(changed)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize("kind", KINDS)
def test_without_positions_the_order_of_symbols_is_lost_on_one_layer(kind):
    x = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 0]])
    last = model(attention=kind, depth=1)(x)[:, -1]
    assert last[0].item() == pytest.approx(last[1].item(), abs=1e-6)


@pytest.mark.parametrize("name", sorted(set(ENCODINGS) - {"nope"}))
def test_every_encoding_tells_the_order_of_symbols(name):
    x = torch.tensor([[1, 0, 0, 0], [0, 0, 0, 1]])
    last = model(name, depth=1)(x)[:, -1]
    assert abs(last[0].item() - last[1].item()) > 1e-4


@pytest.mark.parametrize("depth", [1, 2])
def test_the_attention_of_readouts_is_shared_out_among_what_they_see(depth):
    weights = model(depth=depth, heads=2).readout_attention(symbols())
    assert weights.shape == (5, 2, LENGTH, LENGTH + 2)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, 2, LENGTH))
    assert weights[:, :, 0, 2:-1].abs().max() == 0  # the first readout sees BOS, x1 and itself
    assert weights[:, :, 0, [0, 1, -1]].min() > 0


def test_the_seed_decides_the_weights_and_nothing_else_does():
    first = model("learned").state_dict()
    torch.rand(5)
    second = model("learned").state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_initial_weights_have_the_stated_scale():
    net = model(width=64, heads=4, init_scale=0.5)
    assert net.tokens.weight.std().item() == pytest.approx(1, abs=0.1)
    assert net.blocks[0].mlp[0].weight.std().item() == pytest.approx(0.5 / 8, rel=0.05)
    assert net.blocks[0].mlp[0].bias.abs().max() == 0


@pytest.mark.parametrize(("width", "heads"), [(16, 3), (8, 16)])
def test_heads_that_do_not_divide_the_width_are_refused(width, heads):
    expected = f"model.heads={heads}: must divide model.width={width}; choose from 1, 2, 4, 8"
    with pytest.raises(InputError, match=expected):
        model(width=width, heads=heads)


@pytest.mark.parametrize("bos", [False, True])
def test_linear_attention_equals_its_sum_over_symbols(bos):
    net = LinearAttention(partial(build, "nope"), stream(0, "initial"), head_dim=3, bos=bos, init_scale=1.0)
    x, vectors = symbols(), {0: [0.0, 0.0], 1: [1.0, 0.0], "bos": [0.0, 1.0]}
    vectors = {name: torch.tensor(pair) for name, pair in vectors.items()}
    got = net(x)
    for row in range(len(x)):
        for k in range(1, LENGTH + 1):
            seen = (["bos"] if bos else []) + x[row, :k].tolist()
            query = net.queries(vectors[x[row, k - 1].item()])
            terms = [query @ net.keys(vectors[s]) * net.values(vectors[s]) for s in seen]
            assert got[row, k - 1].item() == pytest.approx(torch.stack(terms).sum().item() / len(seen), abs=1e-5)


def test_linear_attention_takes_no_position_encoding():
    with pytest.raises(InputError, match="model=linear: .* choose encoding=nope"):
        LinearAttention(partial(build, "rope"), stream(0, "initial"), head_dim=2, bos=False, init_scale=1.0)
