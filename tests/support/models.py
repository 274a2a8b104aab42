"""Models and encodings made small for tests."""

import math
from functools import partial

import torch
from torch.nn import functional as F

from support.configs import composed
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import RoPE
from synthlab.models.layers import Linear
from synthlab.models.packing import BOS, EOS
from synthlab.models.transformer import Transformer
from synthlab.rng import stream

LENGTH = 9
KINDS, NORMS = ("softmax", "linear"), ("pre", "post", "none")
# As the config files have them: a new encoding is tested by having one.
ARGUMENTS = {name: composed(f"encoding={name}")["encoding"] for name in ENCODINGS}
DIMS = Dims(width=8, heads=2)


def build(name: str, dims: Dims = DIMS, **changed) -> Encoding:
    encoding = ENCODINGS.build(ARGUMENTS[name] | changed, dims)
    encoding.initialise([torch.Generator().manual_seed(seed) for seed in range(dims.models)])
    return encoding


def at(*positions: int) -> torch.Tensor:
    """Positions that all models and rows share."""
    return torch.tensor(positions).view(1, 1, -1)


def model(encoding: str = "nope", models: int = 1, **changed) -> Transformer:
    sizes = {"width": 16, "depth": 2, "heads": 4, "mlp_ratio": 2.0, "norm": "pre", "attention": "softmax"}
    make_encoding = partial(build, encoding)
    streams = [stream(seed, "initial") for seed in range(models)]
    return Transformer(make_encoding, streams, **(sizes | {"init_scale": 1.0} | changed))


def symbols(models: int = 1, rows: int = 5) -> torch.Tensor:
    return torch.randint(0, 2, (models, rows, LENGTH), generator=torch.Generator().manual_seed(0))


def alone(net: Transformer, index: int, prefix: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """The readout of [BOS, prefix, EOS] by one model, a plain causal Transformer over all tokens: nothing packed,
    stacked or skipped."""
    bos, eos = prefix.new_full((len(prefix), 1), BOS), prefix.new_full((len(prefix), 1), EOS)
    tokens = torch.cat((bos, prefix, eos), 1)
    count, encoding, apart = tokens.shape[1], net.encoding, positions[None]

    def mlp(layers: torch.nn.Sequential, h: torch.Tensor) -> torch.Tensor:
        return affine(layers[2], F.gelu(affine(layers[0], h, index)), index)

    def told(hook, h: torch.Tensor) -> torch.Tensor:  # an encoding speaks for all models at once
        return hook(h.expand(len(net.token_embeddings), *h.shape), apart)[index]

    h = told(encoding.embed, net.token_embeddings[index][tokens])
    for block in net.blocks:
        attention, stream_in = block.attention, normal(block.pre1, h, index)
        q = affine(attention.queries, stream_in, index).unflatten(-1, (attention.heads, -1))
        k, v = affine(attention.keys_values, stream_in, index).chunk(2, -1)
        k, v = (t.unflatten(-1, (attention.heads, -1)) for t in (k, v))
        q, k, v = (t.transpose(1, 2) for t in (told(encoding.rotate, q), told(encoding.rotate, k), v))
        sharpness = encoding.sharpen(apart)
        q = q if sharpness is None else q * sharpness[index % len(sharpness), :, None, :, None].to(q.dtype)
        bias = encoding.bias(apart[..., :, None], apart[..., None, :].expand(*apart.shape, -1))
        bias = None if bias is None else bias[index % len(bias)]
        relative = encoding.relative(apart[..., :, None], apart[..., None, :].expand(*apart.shape, -1))
        products = q @ k.mT if relative is None else turned_products(encoding, q, k, relative[index % len(relative)])
        causal = torch.ones(count, count, dtype=torch.bool).tril()
        if attention.kind == "softmax":
            mask = torch.zeros(count, count).masked_fill(~causal, -math.inf)
            if relative is not None:
                mixed = (products / math.sqrt(q.shape[-1]) + mask).softmax(-1) @ v
            else:
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask if bias is None else mask + bias)
        else:
            products = products if bias is None else products + bias
            mixed = (products * causal / torch.arange(1, count + 1)[:, None]) @ v
        h = normal(block.post1, h + affine(attention.output, mixed.transpose(1, 2).flatten(-2), index), index)
        h = normal(block.post2, h + mlp(block.mlp, normal(block.pre2, h, index)), index)
    return mlp(net.head, normal(net.norm, h[:, -1], index)).squeeze(-1)


def turned_products(encoding: RoPE, q: torch.Tensor, k: torch.Tensor, relative: torch.Tensor) -> torch.Tensor:
    """The product of each query, turned by its relative position, and each key: pairs of dimensions as complex
    numbers, [..., Q, K] from [..., Q, d] and [..., K, d]."""
    q, k = (torch.view_as_complex(each.double().unflatten(-1, (-1, 2)).contiguous()) for each in (q, k))
    angle = relative.double().unsqueeze(-1) * encoding.frequencies(2 * q.shape[-1])
    turned = q.unsqueeze(-2) * torch.polar(torch.ones_like(angle), angle)
    return (turned * k.unsqueeze(-3).conj()).real.sum(-1).to(torch.get_default_dtype())


def affine(layer: Linear, h: torch.Tensor, index: int) -> torch.Tensor:
    return h @ layer.weight[index] + layer.bias[index, 0]


def normal(layer: torch.nn.Module, h: torch.Tensor, index: int) -> torch.Tensor:
    if isinstance(layer, torch.nn.Identity):
        return h
    return F.layer_norm(h, h.shape[-1:], layer.scale[index, 0], layer.shift[index, 0])
