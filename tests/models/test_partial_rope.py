"""RoPE on a part of each head's dimensions."""

import pytest
import torch

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.partial_rope import PartialRoPE
from synthlab.models.encodings.rope import RoPE


def test_the_first_dimensions_are_turned():
    v, positions = torch.randn(1, 2, 5, 2, 8, generator=torch.Generator().manual_seed(0)), torch.arange(5).view(1, 1, 5)
    turned = PartialRoPE(Dims(16, 2), base=100.0, share=0.6).rotate(v, positions)  # 4.8 of 8: two pairs
    assert torch.equal(turned[..., 4:], v[..., 4:])
    torch.testing.assert_close(turned[..., :4], RoPE(Dims(4, 1), base=100.0).rotate(v[..., :4], positions))


def test_all_of_them_is_rope_and_none_is_refused():
    v, positions = torch.randn(1, 1, 3, 2, 4, generator=torch.Generator().manual_seed(0)), torch.arange(3).view(1, 1, 3)
    assert torch.equal(
        PartialRoPE(Dims(8, 2), base=10.0, share=1.0).rotate(v, positions),
        RoPE(Dims(8, 2), base=10.0).rotate(v, positions),
    )
    with pytest.raises(InputError, match=r"^encoding.share=0.4: leaves no pair"):
        PartialRoPE(Dims(8, 2), base=10.0, share=0.4)
