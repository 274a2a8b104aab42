"""RoPE for longer contexts, by hand, by law and against another implementation."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.models import KINDS, LENGTH, at, build, model, symbols
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.reference import predict_prefixes

FACTORED = ("pi", "ntk", "yarn")
BASES = st.floats(2, 1e6)
PAIRS = st.integers(2, 64)


def one_head(pairs: int) -> Dims:
    """The sizes of one model of one head of so many pairs of dimensions."""
    return Dims(width=2 * pairs, heads=1)


def frequencies(name: str, pairs: int, **changed) -> torch.Tensor:
    return build(name, one_head(pairs), **changed).frequencies(2 * pairs)


def turned(encoding: Encoding, pairs: int, position: int) -> torch.Tensor:
    """The angle by which each pair of dimensions is turned."""
    east = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(pairs).view(1, 1, 1, 1, -1)
    x, y = encoding.rotate(east, at(position)).view(pairs, 2).unbind(-1)
    return torch.atan2(y, x)


def products(encoding: Encoding, positions: torch.Tensor) -> torch.Tensor:
    q, k = torch.randn(2, 1, 1, 6, 2, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q, k = (encoding.rotate(v, positions) for v in (q, k))
    sharpness = encoding.sharpen(positions)
    logits = torch.einsum("ebqhd,ebkhd->ebhqk", q, k)
    return logits if sharpness is None else logits * sharpness[..., None, :, None]


def test_angles_by_hand():
    # Two pairs of base 10,000 turn by 1 and 1/100 a position.
    assert turned(build("pi", one_head(2)), 2, 6).tolist() == pytest.approx([1.5, 0.015])
    # 4^(4/2) = 16: base 160,000, whose root is 400.
    assert turned(build("ntk", one_head(2)), 2, 3).tolist() == pytest.approx([3, 3 / 400])
    # Four pairs turn by 1, 1/10, 1/100, 1/1000; the one that turns once in 64 tokens is 4 log(64 / 2 pi) / log(10,000)
    # = 1.008, so that the ramp runs from 0 to 2: weights 0, 1/2, 1, 1 of what is divided by 4.
    expected = [1, (0.1 + 0.025) / 2, 0.0025, 0.00025]
    assert turned(build("yarn", one_head(4)), 4, 1).tolist() == pytest.approx(expected)
    assert turned(build("eabf", one_head(2)), 2, 3).tolist() == pytest.approx([3, 3 / 500_000**0.5])


def test_sharpness_by_hand():
    positions = at(0, 63, 64, 255, 4095)
    assert build("yarn").sharpen(positions).flatten().tolist() == pytest.approx([(1 + 0.1 * math.log(4)) ** 2] * 5)
    # The token at position 63 sees 64, BOS and itself among them; 256 = 64^(4/3), 4096 = 64^2.
    expected = [1, 1, math.log(65) / math.log(64), 4 / 3, 2]
    assert build("eabf").sharpen(positions).flatten().tolist() == pytest.approx(expected)
    assert build("pi").sharpen(positions) is build("ntk").sharpen(positions) is None


@pytest.mark.parametrize("name", FACTORED)
@given(pairs=PAIRS, base=BASES)
def test_a_factor_of_one_is_plain_rope(name, pairs, base):
    encoding = build(name, one_head(pairs), base=base, factor=1.0)
    assert torch.equal(encoding.frequencies(2 * pairs), frequencies("rope", pairs, base=base))
    assert encoding.sharpen(at(0, 9)) is None or (encoding.sharpen(at(0, 9)) == 1).all()


def test_yarns_ramp_ends_by_hand():
    # 16 pairs over 4096 tokens: pair 16 log(4096 / (32 * 2 pi)) / log(10,000) = 5.2 turns 32 times, pair 11.3 once.
    ratio = frequencies("yarn", 16, trained=4096) / frequencies("rope", 16)
    weights = [0] * 6 + [(pair - 5) / 7 for pair in range(6, 12)] + [1] * 4
    assert ratio.tolist() == pytest.approx([1 - 0.75 * weight for weight in weights])


@pytest.mark.parametrize(("trained", "left"), [(1, 1), (10**9, 4)])
def test_yarns_ramp_at_its_ends(trained, left):
    ratio = frequencies("yarn", 4, trained=trained) / frequencies("rope", 4)
    assert ratio.tolist() == pytest.approx([1.0] * left + [0.25] * (4 - left))


@pytest.mark.parametrize("offset", [1, 7, 1000])
@pytest.mark.parametrize(("name", "other"), [("rope", "nope"), *((name, "rope") for name in FACTORED)])
def test_logits_depend_on_position_differences_only(name, other, offset):
    encoding, positions = build(name), at(0, 1, 2, 5, 9, 20)
    torch.testing.assert_close(products(encoding, positions + offset), products(encoding, positions))
    assert not torch.allclose(products(encoding, positions), products(build(other), positions))


@pytest.mark.parametrize("kind", KINDS)
def test_packed_outputs_are_sharpened(kind):
    net, x = model("eabf", attention=kind), symbols()
    net.encoding = build("eabf", Dims(16, 4), trained=3)  # most tokens stand beyond
    single = predict_prefixes(net, x[0])
    for packed in (net(x), net(x, torch.arange(LENGTH + 2).expand(1, 5, -1))):  # over the unique tokens, and without
        torch.testing.assert_close(packed[0], single, rtol=0, atol=1e-5 * max(1, single.abs().max().item()))
    net.encoding = build("eabf", Dims(16, 4))
    assert not torch.allclose(net(x)[0], single)


def test_randomized_positions_are_sharpened_by_the_inner_encoding():
    inner = {"name": "eabf", "base": 10_000.0, "trained": 16}
    randomized, positions = build("randomized", inner=inner), at(3, 15, 255)
    assert randomized.sharpen(positions).flatten().tolist() == pytest.approx([1, 1, 2])
    assert build("randomized").sharpen(positions) is None


OF_TRANSFORMERS = {"pi": "linear", "ntk": "dynamic", "yarn": "yarn", "dynamic_ntk": "dynamic", "longrope": "longrope"}


@pytest.mark.parametrize("trained", [64, 4096])
@pytest.mark.parametrize("width", [4, 8, 64, 128])
@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_frequencies_equal_those_of_transformers(name, width, trained):
    rope_utils = pytest.importorskip("transformers.modeling_rope_utils", reason="transformers is not installed")
    from transformers import LlamaConfig

    theirs = {"rope_type": OF_TRANSFORMERS[name], "rope_theta": 10_000.0, "factor": 8.0}
    ours = {"factor": 8.0} | ({} if name in ("pi", "ntk") else {"trained": trained})
    if name in ("yarn", "longrope"):
        theirs |= {"original_max_position_embeddings": trained, "beta_slow": 1.0, "beta_fast": 32.0}
    if name == "longrope":
        ours["short"], ours["long"] = ([1 + rise * pair for pair in range(width // 2)] for rise in (0.1, 0.7))
        theirs |= {"short_factor": ours["short"], "long_factor": ours["long"]}
    if name == "ntk":  # theirs takes what it multiplies the base by from the length of the sequence
        theirs["factor"] = 1.0
    sizes = {"hidden_size": width, "num_attention_heads": 1, "max_position_embeddings": trained}
    mine = build(name, one_head(width // 2), **ours)
    for length in (trained // 3, trained, trained + 1, 8 * trained) if isinstance(mine, LengthRoPE) else (8 * trained,):
        config = LlamaConfig(**sizes, rope_parameters=dict(theirs))
        expected, scale = rope_utils.ROPE_INIT_FUNCTIONS[theirs["rope_type"]](config, "cpu", seq_len=length)
        found = mine.table([length], width)[0, 0] if isinstance(mine, LengthRoPE) else mine.frequencies(width)
        torch.testing.assert_close(found.float(), expected)
        assert (1 if mine.sharpen(at(5)) is None else mine.sharpen(at(5)).item()) == pytest.approx(scale**2)
