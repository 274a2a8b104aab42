"""The packed Transformers against the reference: an independent reading of the same weights."""

from functools import partial
from itertools import product

import pytest
import torch

from support.configs import config
from support.models import KINDS, LENGTH, NORMS, PAIRS, build, model, symbols
from synthlab.errors import InputError
from synthlab.models import packing, transformer
from synthlab.models.encodings import ENCODINGS
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import BOS, ENDS, EOS
from synthlab.models.transformer import Reference, Transformer
from synthlab.rng import stream
from synthlab.training.execution import fit


def test_a_row_holds_bos_the_symbols_and_an_eos_for_each_prefix():
    x = torch.tensor([[1, 0, 1]])
    assert packing.pack(x).tolist() == [[BOS, 1, 0, 1, EOS, EOS, EOS]]


def test_the_kth_eos_stands_right_after_its_prefix():
    assert packing.rank_packed(3, torch.device("cpu")).tolist() == [0, 1, 2, 3, 2, 3, 4]


def test_visibility_for_two_symbols_by_hand():
    bos, x1, x2 = [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]
    eos1, eos2 = [1, 1, 0, 1], [1, 1, 1, 1]
    assert packing.mask_packed(2, torch.device("cpu")).int().tolist() == [bos, x1, x2, eos1, eos2]


# Each encoding under each kind of attention, and each norm at each depth under one encoding, which knows neither.
@pytest.mark.parametrize(
    ("name", "kind", "norm", "depth"),
    [*dict.fromkeys([*((*pair, "pre", 2) for pair in PAIRS), *product(["rope"], KINDS, NORMS, [1, 2])])],
)
def test_packed_outputs_equal_those_of_the_reference(name, kind, norm, depth):
    net, plain = (
        model(name, models=2, made=made, attention=kind, norm=norm, depth=depth) for made in (Transformer, Reference)
    )
    x = symbols(models=2)
    count = LENGTH + ENDS
    drawn = [net.encoding.positions(torch.full((5,), count), count, stream(seed, "positions")) for seed in range(2)]
    positions = torch.stack([torch.arange(count).expand(5, -1) if each is None else each for each in drawn])
    packed, single = net(x, positions), plain(x, positions)
    # Linear attention without normalization puts out hundreds; rounding grows in proportion.
    close = partial(torch.testing.assert_close, rtol=0, atol=1e-5 * max(1, packed.abs().max().item()))
    close(packed, single)
    assert packed.std() > 1e-3  # equal, and not because all is constant
    if not net.encoding.draws_positions:
        close(net(x), single)  # over the table of unique tokens


# In a model of one layer only the readouts have outputs, whatever the encoding.
@pytest.mark.parametrize(
    ("name", "depth"), [*((name, 2) for name in ENCODINGS), *((name, 1) for name in ("rope", "t5", "cope", "readout"))]
)
def test_gradients_over_the_table_equal_those_without_it(name, depth, monkeypatch):
    def gradients() -> list[torch.Tensor]:
        net = model(name, models=2, depth=depth)
        net(symbols(models=2)).square().sum().backward()
        return [parameter.grad for parameter in net.parameters()]

    over = gradients()
    monkeypatch.setattr(transformer, "TABLE_LENGTH", 0)
    for a, b in zip(over, gradients(), strict=True):
        # FIRE's last bias shifts all logits of a head, so its gradient is 0 up to rounding.
        torch.testing.assert_close(a, b, rtol=1e-4, atol=max(1e-6, 1e-5 * b.abs().max().item()))


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_see_the_weights_over_the_table_too(kind):
    net, x, seen = model("alibi", attention=kind, depth=1), symbols(), []
    net.blocks[0].attention.hook_pattern.register_forward_hook(lambda point, _, weights: seen.append(weights))
    outputs = [net(x), net(x, torch.arange(LENGTH + ENDS).expand(1, 5, -1))]  # over the table, and packed
    torch.testing.assert_close(*outputs)
    over, packed = seen  # B Q H R, whose rows are BOS, symbols 0, symbols 1, EOS; and B H Q K
    torch.testing.assert_close(over[..., 0], packed[..., 0].mT)
    torch.testing.assert_close(over.sum(-1), packed.sum(-1).mT)


@pytest.mark.parametrize("kind", KINDS)
def test_without_positions_order_is_lost(kind):
    x = torch.tensor([[[1, 0, 0, 1], [0, 1, 1, 0]]])
    last = model(attention=kind, depth=1)(x)[0, :, -1]
    assert last[0].item() == pytest.approx(last[1].item(), abs=1e-6)


@pytest.mark.parametrize("name", sorted(set(ENCODINGS) - {"nope", "readout"}))  # readout is around nope
def test_every_encoding_tells_the_order_of_symbols(name):
    x = torch.tensor([[[1, 0, 0, 0], [0, 0, 0, 1]]])
    last = model(name, depth=1, models=5)(x.expand(5, 2, 4))[:, :, -1]  # TRA sees it in some models alone
    assert (last[:, 0] - last[:, 1]).abs().max() > 1e-4


def test_initial_weights_have_the_stated_scale():
    net = model(width=64, heads=4, init_scale=0.5)
    assert net.token_embeddings.std().item() == pytest.approx(1, abs=0.1)
    assert net.blocks[0].mlp[0].weight.std().item() == pytest.approx(0.5 / 8, rel=0.05)
    assert net.blocks[0].mlp[0].bias.abs().max() == 0


@pytest.mark.parametrize(("width", "heads"), [(16, 3), (8, 16)])
def test_heads_that_do_not_divide_the_width_are_refused(width, heads):
    expected = f"model.heads={heads}: must divide model.width={width}; choose from 1, 2, 4, 8"
    with pytest.raises(InputError, match=expected):
        model(width=width, heads=heads)


@pytest.mark.parametrize("bos", [False, True])
def test_linear_attention_equals_its_sum_over_symbols(bos):
    net = LinearAttention(partial(build, "nope"), [stream(0, "initial")], head_dim=3, bos=bos, init_scale=1.0)
    x, vectors = symbols()[0], {0: [0.0, 0.0], 1: [1.0, 0.0], "bos": [0.0, 1.0]}
    vectors = {name: torch.tensor([[pair]]) for name, pair in vectors.items()}
    got = net(x[None])[0]
    for row in range(len(x)):
        for k in range(1, LENGTH + 1):
            seen = (["bos"] if bos else []) + x[row, :k].tolist()
            query = net.queries(vectors[x[row, k - 1].item()])
            terms = [(query @ net.keys(vectors[s]).mT * net.values(vectors[s])) for s in seen]
            assert got[row, k - 1].item() == pytest.approx(torch.stack(terms).sum().item() / len(seen), abs=1e-5)


def test_linear_attention_takes_no_position_encoding():
    with pytest.raises(InputError, match="model=linear: .* choose encoding=nope"):
        LinearAttention(partial(build, "rope"), [stream(0, "initial")], head_dim=2, bos=False, init_scale=1.0)


@pytest.mark.parametrize("words", [("task=length", "outrep=rsqrt", "encoding=t5"), ("task=copy",), ("task=recall",)])
def test_a_run_with_the_reference_has_the_losses_of_the_transformer(words):
    small = ("model.width=16", "protocol.steps=3", "protocol.batch=4", "protocol.record_every=1")
    curves = []
    for name in ("transformer", "reference"):
        _, trainings = fit([config(*words, *small, f"model={name}", f"seed={seed}") for seed in (0, 1)])
        curves.append(torch.tensor([training.losses for training in trainings]))
    torch.testing.assert_close(*curves, rtol=1e-5, atol=0)
