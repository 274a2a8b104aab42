"""What a trained model does inside: where it attends, and what its position encoding adds.

Tensor letters as in ``transformer``.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.models import packing
from synthlab.models.attention import Sight
from synthlab.models.encodings import Dims, NoPE
from synthlab.models.layers import take
from synthlab.models.transformer import Transformer

UNTOLD = NoPE(Dims(width=1, heads=1, models=1))  # sizes mean nothing to it


def readout_attention(
    model: Transformer, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None = None
) -> Float[Tensor, "E B H L K"]:
    """How much each readout attends, in the last layer, to BOS, x1..xL and itself."""
    h, sight = model.embed(x, positions), model.sight(x, positions)
    for block in model.blocks[:-1]:
        h = block(h, sight, model.encoding)
    last = model.blocks[-1]
    return last.attention.attend(last.pre1(h), sight.of_readouts(), model.encoding)[0]


def added_logits(model: Transformer, x: Int[Tensor, "E B L"]) -> Float[Tensor, "E B H L+2 L+2"]:
    """What the position encoding adds to the first layer's attention logits on ``[BOS, x1..xL, EOS]``: the logits less
    those of the same weights without position encoding. Minus infinity where a token (row) does not see another."""
    sight = model.sight(x, None)
    blind = Sight(sight.first, sight.positions, sight.visible, None)
    first = model.blocks[0]
    told, _ = first.attention.score(first.pre1(model.embed(x, None)), sight, model.encoding)
    plain, _ = first.attention.score(first.pre1(take(model.tokens, packing.pack(x))), blind, UNTOLD)
    added = (told - plain).expand(len(x), x.shape[1], -1, -1, -1)
    length = x.shape[-1]
    rows = torch.cat((added[..., : length + 1, :], added[..., -1:, :]), -2)  # the last EOS is the whole sequence's
    seen = torch.ones(length + 2, length + 2, dtype=torch.bool, device=x.device).tril()
    return rows.masked_fill(~seen, -math.inf)
