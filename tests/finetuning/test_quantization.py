"""NF4 against the published numbers, by hand and by brute force."""

import pytest
import torch

from synthlab.finetuning.adapters import BLOCK, nearest_normal_float, normal_float_levels

# Dettmers et al., 2023, appendix E.
PUBLISHED = [
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
]


def test_the_16_values_are_the_published_ones():
    assert normal_float_levels().tolist() == pytest.approx(PUBLISHED, abs=1e-6)


def test_each_weight_becomes_the_nearest_value_of_its_block():
    weights = torch.randn(2, 10, 15, generator=torch.Generator().manual_seed(0))
    found = nearest_normal_float(weights)
    assert found.shape == weights.shape
    for model, kept in zip(weights.flatten(1), found.flatten(1), strict=True):
        for start in range(0, 150, BLOCK):
            block = model[start : start + BLOCK]
            values = torch.tensor(PUBLISHED) * block.abs().max()
            nearest = values[(block[:, None] - values).abs().argmin(-1)]
            torch.testing.assert_close(kept[start : start + BLOCK], nearest, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(nearest_normal_float(found), found)  # nothing is lost a second time
    assert not torch.equal(found, weights)
    assert not nearest_normal_float(torch.zeros(1, 3)).any()


def test_models_do_not_share_blocks():
    weights = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0))
    alone = torch.cat([nearest_normal_float(each[None]) for each in weights])
    assert torch.equal(nearest_normal_float(weights), alone)


def test_bitsandbytes_gives_the_same_numbers():
    functional = pytest.importorskip("bitsandbytes.functional", reason="bitsandbytes is not installed")
    weights = torch.randn(1, 32, 64, generator=torch.Generator().manual_seed(0))
    packed, state = functional.quantize_4bit(weights[0], blocksize=BLOCK, quant_type="nf4", compress_statistics=False)
    theirs = functional.dequantize_4bit(packed, state)
    torch.testing.assert_close(nearest_normal_float(weights)[0], theirs, rtol=1e-5, atol=1e-6)
