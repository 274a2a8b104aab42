"""Attention weights of a trained model, and what its position encoding adds to the logits.

Tensor letters as in ``transformer``.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.models.encoding_base import Dims, Encoding
from synthlab.models.encodings import NoPE
from synthlab.models.layers import gather_rows
from synthlab.models.packing import pack, packed_tokens
from synthlab.models.transformer import Transformer

NO_ENCODING = NoPE(Dims(width=1, heads=1, models=1))  # which ignores the sizes


def readout_attention(
    model: Transformer, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None = None
) -> Float[Tensor, "E B H L K"]:
    """The attention weights of each prefix's EOS, in the last layer: on BOS, x1..xL and itself."""
    tokens = packed_tokens(x, positions, model.encoding)
    h = model.encoding.embed(gather_rows(model.token_embeddings, pack(x)), tokens.positions)
    *blocks, last = model.blocks
    for block in blocks:
        h = block(h, tokens, model.encoding)
    tokens = tokens.only_readouts()
    q, k, _ = last.attention.project(last.pre1(h), tokens, model.encoding)
    return last.attention.weights(last.attention.logits(q, k, tokens), tokens)


def added_logits(model: Transformer, x: Int[Tensor, "E B L"]) -> Float[Tensor, "E B H L+2 L+2"]:
    """What the position encoding adds to the first layer's attention logits on ``[BOS, x1..xL, EOS]``: the logits minus
    those of the same weights without position encoding. Minus infinity where a token (row) does not see another."""
    added = _first_logits(model, x, model.encoding) - _first_logits(model, x, NO_ENCODING)
    added = added.expand(len(x), x.shape[1], -1, -1, -1)
    length = x.shape[-1]
    rows = torch.cat((added[..., : length + 1, :], added[..., -1:, :]), -2)  # the last EOS is the whole sequence's
    seen = torch.ones(length + 2, length + 2, dtype=torch.bool, device=x.device).tril()
    return rows.masked_fill(~seen, -math.inf)


def _first_logits(model: Transformer, x: Int[Tensor, "E B L"], encoding: Encoding) -> Float[Tensor, "E B H T K"]:
    """The first layer's attention logits under ``encoding``, not masked."""
    tokens, first = packed_tokens(x, None, encoding), model.blocks[0]
    h = encoding.embed(gather_rows(model.token_embeddings, pack(x)), tokens.positions)
    q, k, _ = first.attention.project(first.pre1(h), tokens, encoding)
    return first.attention.logits(q, k, tokens)
