"""Where trained models attend, and what their encodings add to the logits."""

import math

import pytest
import torch

from support.models import LENGTH, model, symbols
from synthlab.models.encodings import ENCODINGS, alibi_slopes
from synthlab.models.inspection import added_logits, readout_attention

SEEN = torch.ones(LENGTH + 2, LENGTH + 2, dtype=torch.bool).tril()


@pytest.mark.parametrize("depth", [1, 2])
def test_the_attention_of_readouts_is_shared_out_among_what_they_see(depth):
    weights = readout_attention(model(depth=depth, heads=2), symbols())[0]
    assert weights.shape == (5, 2, LENGTH, LENGTH + 2)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, 2, LENGTH))
    assert weights[:, :, 0, 2:-1].abs().max() == 0  # the first readout sees BOS, x1 and itself
    assert weights[:, :, 0, [0, 1, -1]].min() > 0


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_adds_only_to_what_a_token_sees(name):
    added = added_logits(model(name, models=2), symbols(models=2))
    assert added.shape == (2, 5, 4, LENGTH + 2, LENGTH + 2)
    assert added[..., SEEN].isfinite().all()
    assert (added[..., ~SEEN] == -math.inf).all()
    assert (added[..., SEEN].abs().max() > 0) == (name != "nope")


def test_alibi_adds_its_slope_for_each_step_of_distance():
    added = added_logits(model("alibi"), symbols())[0]
    place = torch.arange(LENGTH + 2)
    expected = alibi_slopes(4)[:, None, None] * (place - place[:, None])
    torch.testing.assert_close(added[..., SEEN], expected[:, SEEN].expand(5, 4, -1))


def test_rope_adds_nothing_where_a_token_sees_itself():
    added = added_logits(model("rope"), symbols())
    torch.testing.assert_close(added.diagonal(dim1=-2, dim2=-1), torch.zeros(1, 5, 4, LENGTH + 2), atol=1e-5, rtol=0)
