"""Attention and Transformer blocks, for an ensemble of E models.

``Attention.forward`` is softmax attention from top to bottom, over a layout that says which tokens see each other.
``Causal`` is the plain layout: whole texts, each token sees those before it. ``packing.Packed`` holds all prefixes of a
sequence in one row. Long texts of the plain layout go through PyTorch's fused attention, which computes the same and
keeps no logits for each text and head.

Tensor letters: E models, B batch, T tokens, Q queries, K keys, D model width, H heads, d head width.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import MLP, LayerNorm, Linear

Norm = Literal["pre", "post", "none"]
Kind = Literal["softmax", "linear"]

FUSED_FROM = 64  # from this many keys on, fused attention is at least as fast (docs/speed.md)


@dataclass(frozen=True)
class Causal:
    """The plain layout: T tokens are queries and keys, or continue a text of K tokens whose last they are.

    Attributes:
        positions: The position of each token.
        mask: True where a query sees a key.
        bias: What the position encoding adds to the logits, or None.
        relative: The relative positions that the encoding's ``products`` takes, or None.
        cache: Maps keys and values of these tokens to those of the whole text; None if these are the whole text.
        first_query: Index of the first of the T tokens that is a query.
    """

    positions: Int[Tensor, "#E #B T"]
    mask: Bool[Tensor, "*rows Q K"]
    bias: Float[Tensor, "#E #B H Q K"] | None
    relative: Float[Tensor, "#E #B 1 Q K"] | None
    cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    first_query: int = 0

    @classmethod
    def build(cls, encoding: Encoding, positions: Int[Tensor, "#E #B K"], mask: Bool[Tensor, "*rows T K"]) -> "Causal":
        """Lay out the last T of K tokens, given the positions of all and which keys each sees."""
        own = positions[..., -mask.shape[-2] :]
        query = own.unsqueeze(-1)
        key = positions.unsqueeze(-2).expand(*own.shape, -1)
        return cls(own, mask, encoding.bias(query, key), encoding.relative(query, key))

    def only_last(self, count: int) -> "Causal":
        """Return the same texts with their last ``count`` tokens as the only queries."""
        bias, relative = (None if each is None else each[..., -count:, :] for each in (self.bias, self.relative))
        first = self.positions.shape[-1] - count
        return replace(self, mask=self.mask[..., -count:, :], bias=bias, relative=relative, first_query=first)

    def by_head(self, values: Float[Tensor, "E B T H d"]) -> Float[Tensor, "E B H T d"]:
        """Arrange queries, keys or values by heads."""
        return values.transpose(2, 3)

    def by_token(self, heads: Float[Tensor, "E B H Q d"]) -> Float[Tensor, "E B Q D"]:
        """Join the heads of each query."""
        return heads.transpose(2, 3).flatten(-2)

    def products(self, q: Float[Tensor, "E B H Q d"], k: Float[Tensor, "E B H K d"]) -> Float[Tensor, "E B H Q K"]:
        """Multiply each query by its keys."""
        return q @ k.mT

    def mix(self, weights: Float[Tensor, "E B H Q K"], v: Float[Tensor, "E B H K d"]) -> Float[Tensor, "E B H Q d"]:
        """Sum the values that each query sees, by its attention weights."""
        return weights @ v

    def count_keys(self) -> Int[Tensor, "*rows Q 1"]:
        """Count the keys that each query sees."""
        return self.mask.sum(-1, keepdim=True)

    @cached_property
    def added(self) -> Float[Tensor, "*rows Q K"]:
        """Logit offsets: the bias, and minus infinity where the mask is False."""
        masked = mask_as_logits(self.mask, torch.get_default_dtype())
        return masked if self.bias is None else masked + self.bias

    def can_fuse(self, encoding: Encoding) -> bool:
        """Return True if PyTorch's fused attention applies to these texts and is worth its start-up.

        It applies where logits are inner products plus a constant.
        """
        constant = self.bias is None or not self.bias.requires_grad
        plain = type(encoding).products is Encoding.products
        return constant and plain and self.mask.shape[-1] >= FUSED_FROM


def causal_mask(length: int, device: torch.device) -> Bool[Tensor, "T T"]:
    """Return the causal mask: True where a token sees another, itself and all before it."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def mask_as_logits(mask: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """Return what is added to logits for a mask: 0 where it is True, minus infinity elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -math.inf)


class Attention(nn.Module):
    """Multi-head attention: softmax, or linear with logits divided by the number of keys seen (equation 6)."""

    def __init__(self, models: int, width: int, heads: int, kind: Kind):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.queries = Linear(models, width, width)
        self.keys_values = Linear(models, width, 2 * width)
        self.output = Linear(models, width, width)

    def forward(self, h: Float[Tensor, "E B T D"], layout: Causal, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """Return the attention output of each query."""
        q, k, v = self.project(h, layout)  # E B Q H d, E B T H d, E B T H d
        q, k = self.rotate(q, k, layout, encoding)
        q, k, v = (layout.by_head(each) for each in (q, k, v))  # E B H Q d, E B H T d, E B H T d
        if layout.cache is not None:
            k, v = layout.cache(k, v)  # E B H K d
        if self.kind == "softmax" and layout.can_fuse(encoding):
            heads = attend_fused(q, k, v, layout.added)  # E B H Q d
        else:
            logits = self.mask(self.score(q, k, layout, encoding), layout.mask)  # E B H Q K
            heads = layout.mix(self.normalize(logits), v)  # E B H Q d
        return self.output(layout.by_token(heads))

    def project(
        self, h: Float[Tensor, "E B T D"], layout: Causal
    ) -> tuple[Float[Tensor, "E B Q H d"], Float[Tensor, "E B T H d"], Float[Tensor, "E B T H d"]]:
        """Return queries, keys and values."""
        q = self.queries(h[:, :, layout.first_query :]).unflatten(-1, (self.heads, -1))
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        return q, k, v

    def rotate(
        self, q: Float[Tensor, "E B Q H d"], k: Float[Tensor, "E B T H d"], layout: Causal, encoding: Encoding
    ) -> tuple[Float[Tensor, "E B Q H d"], Float[Tensor, "E B T H d"]]:
        """Rotate queries and keys by their positions, and multiply each query by its logit scale."""
        own = layout.positions[..., layout.first_query :]
        q, k = encoding.rotate(q, own), encoding.rotate(k, layout.positions)
        logit_scale = encoding.sharpen(own)
        if logit_scale is not None:
            q = q * logit_scale[..., None, None].to(q.dtype)
        return q, k

    def score(
        self, q: Float[Tensor, "E B H Q d"], k: Float[Tensor, "E B H T d"], layout: Causal, encoding: Encoding
    ) -> Float[Tensor, "E B H Q K"]:
        """Return the logits q . k / sqrt(d) + bias, or (q . k + bias) / n for linear attention, before masking.

        Division by sqrt(d) keeps the variance of products of independent unit entries at 1. Equation 6 divides by the
        number n of visible keys instead.
        """
        logits = encoding.products(q, k, layout.relative, layout.products)
        if self.kind == "softmax":
            logits = logits * q.shape[-1] ** -0.5
        if layout.bias is not None:
            logits = logits + layout.bias
        return logits if self.kind == "softmax" else logits / layout.count_keys()

    def mask(self, logits: Float[Tensor, "..."], mask: Bool[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Change logits so that keys outside the mask get no weight."""
        if self.kind == "linear":
            return logits * mask
        return logits + mask_as_logits(mask, logits.dtype)

    def normalize(self, logits: Float[Tensor, "*N Q K"]) -> Float[Tensor, "*N Q K"]:
        """Turn logits into attention weights: by softmax, or unchanged for linear attention."""
        return logits.softmax(-1) if self.kind == "softmax" else logits


def attend_fused(
    q: Float[Tensor, "E B H Q d"],
    k: Float[Tensor, "E B H K d"],
    v: Float[Tensor, "E B H K d"],
    added: Float[Tensor, "*rows Q K"],
) -> Float[Tensor, "E B H Q d"]:
    """Return softmax attention in one call: each query's values, weighted by softmax(q . k / sqrt(d) + ``added``)."""
    if added.dim() > 2:
        added = added.expand(*q.shape[:2], -1, -1, -1).flatten(0, 1)
    heads = F.scaled_dot_product_attention(*(each.flatten(0, 1) for each in (q, k, v)), attn_mask=added.to(q.dtype))
    return heads.unflatten(0, q.shape[:2])


class Block(nn.Module):
    """Attention and an MLP, each added to the residual stream, with normalization before, after or not at all."""

    def __init__(self, models: int, width: int, heads: int, hidden: int, norm: Norm, kind: Kind):
        super().__init__()
        self.attention = Attention(models, width, heads, kind)
        self.mlp = MLP(models, width, hidden, width)
        self.pre1, self.pre2 = (LayerNorm(models, width) if norm == "pre" else nn.Identity() for _ in range(2))
        self.post1, self.post2 = (LayerNorm(models, width) if norm == "post" else nn.Identity() for _ in range(2))

    def forward(self, h: Float[Tensor, "E B T D"], layout: Causal, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """Return the residual stream of the queries after this block."""
        return self.add(h[:, :, layout.first_query :], self.attention(self.pre1(h), layout, encoding))

    def add(self, h: Float[Tensor, "E #B Q D"], attended: Float[Tensor, "E B Q D"]) -> Float[Tensor, "E B Q D"]:
        """Add the attention output to the residual stream, and then that of the MLP."""
        h = self.post1(h + attended)
        return self.post2(h + self.mlp(self.pre2(h)))
