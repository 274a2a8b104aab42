"""The Transformer in its plainest form: one model, a batch of whole texts, nothing packed, stacked or skipped.

Read this file first. The rest of ``models`` computes the same numbers faster, and is held equal to it over every
encoding (``laws``, tests/models). ``model=reference`` trains with it: slower, on the same initial weights and examples
as ``model=transformer``, so with the same losses up to rounding.

Weights and encodings serve an ensemble of models, along their first dimension: here one, at index 0.
Letters of shapes: B texts, T tokens, D width, H heads, d = D / H, V outputs.
"""

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.encodings.base import Encoding, add_products
from synthlab.models.layers import LayerNorm, Linear
from synthlab.models.mixers import MixerLayer
from synthlab.models.packing import ENDS, with_ends

if TYPE_CHECKING:
    from synthlab.models.attention import Attention
    from synthlab.models.transformer import Decoder


def predict_prefixes(
    model: "Decoder", x: Int[Tensor, "B L"], positions: Int[Tensor, "B L+2"] | None = None
) -> Float[Tensor, "B L"]:
    """Return the prediction for every prefix of x: the output at the EOS of BOS, x1..xk, EOS, read as one text."""
    outputs = []
    for k in range(1, x.shape[1] + 1):
        prefix_positions = None if positions is None else positions[:, : k + ENDS]
        outputs.append(read(model, with_ends(x[:, :k]), prefix_positions)[:, -1])
    return torch.cat(outputs, 1)


def read(
    model: "Decoder", tokens: Int[Tensor, "B T"], positions: Int[Tensor, "B T"] | None = None
) -> Float[Tensor, "B T V"]:
    """Return the output at every token; ``positions`` are 0..T - 1 by default."""
    if positions is None:
        positions = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
    h = model.encoding.embed(model.token_embeddings[:1, tokens], positions[None])[0]  # B T D
    embeddings = h
    for loop in range(model.loops):
        if loop:
            h = h + embeddings
        for layer, block in enumerate(model.blocks):
            inputs = layer_norm(block.pre1, h)
            if block.convolution is not None:
                inputs = block.convolution(
                    inputs[None], lambda n, h=inputs: F.pad(h, (0, 0, n, 0))[None, :, : h.shape[1]]
                )[0]
            if isinstance(block.attention, MixerLayer):
                mixed = block.attention.mixer(inputs[None])[0]
            else:
                mixed = attend(block.attention, inputs, positions[None], model.encoding.at_layer(layer))
            h = layer_norm(block.post1, h + mixed)
            h = layer_norm(block.post2, h + feed_forward(block.mlp, layer_norm(block.pre2, h)))
    h = layer_norm(model.norm, h)
    return linear(model.head, h) if isinstance(model.head, Linear) else feed_forward(model.head, h)


def attend(
    attention: "Attention", h: Float[Tensor, "B T D"], positions: Int[Tensor, "1 B T"], encoding: Encoding
) -> Float[Tensor, "B T D"]:
    """Return the output of causal attention at each token."""
    positions = encoding.locate(h[None], positions, lambda values: values.cumsum(2))
    q = linear(attention.queries, h).unflatten(-1, (attention.heads, -1))  # B T H d
    k, v = linear(attention.keys_values, h).unflatten(-1, (2, attention.heads, -1)).unbind(2)
    q, k = encoding.rotate(q[None], positions)[0], encoding.rotate_keys(k[None], positions)[0]
    scale = encoding.sharpen(positions)
    if scale is not None:
        q = q * scale[0].view(*scale.shape[1:3], -1, 1).to(q.dtype)  # of each token, or each of its heads
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # B H T d

    query = positions.unsqueeze(3)  # 1 B T 1, or with a last dimension that Encoding.locate adds
    key = positions.unsqueeze(2).expand(*positions.shape[:3], *positions.shape[2:])
    relative, bias = encoding.relative(query, key), encoding.bias(query, key)
    scores = q @ k.mT  # B H T T
    if relative is not None:
        scores = add_products(encoding.products(q, k, relative[0]), lambda q, k: q @ k.mT)
    offset = 0.0 if bias is None else bias[0]
    seen = torch.ones(h.shape[1], h.shape[1], dtype=torch.bool, device=h.device).tril()
    if attention.kind == "softmax":
        scores = encoding.adjust((scores / math.sqrt(v.shape[-1]) + offset)[None], q[None], seen, bias)[0]
        weights = encoding.weigh(scores.masked_fill(~seen, -math.inf)[None])[0]
    else:  # equation 6: divided by the number of tokens that are seen
        weights = (scores + offset) * seen / seen.sum(-1, keepdim=True)
    return linear(attention.output, (weights @ v).transpose(1, 2).flatten(-2))


def feed_forward(mlp: nn.Module, h: Float[Tensor, "B T i"]) -> Float[Tensor, "B T o"]:
    """Apply an MLP with one hidden layer."""
    up, down = (layer for layer in mlp.modules() if isinstance(layer, Linear))
    return linear(down, F.gelu(linear(up, h)))


def linear(layer: Linear, h: Float[Tensor, "B T i"]) -> Float[Tensor, "B T o"]:
    """Apply a linear layer."""
    return h @ layer.weight[0] + layer.bias[0, 0]


def layer_norm(layer: nn.Module, h: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """Apply layer normalization, where the model has one."""
    return F.layer_norm(h, h.shape[-1:], layer.scale[0, 0], layer.shift[0, 0]) if isinstance(layer, LayerNorm) else h
