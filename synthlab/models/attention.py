"""Attention and Transformer blocks, for an ensemble of E models.

Tensor letters are those of ``transformer``: E models, B batch, T tokens, Q queries, K keys, D model width, H heads, d
head width, R rows of the table of unique tokens. In the first layer ``tokens`` may be that table: shapes are then those
that the comments give second.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import MLP, LayerNorm, Linear
from synthlab.models.packing import PackedTokens
from synthlab.models.unique_tokens import UniqueTokens

Norm = Literal["pre", "post", "none"]
Kind = Literal["softmax", "linear"]
Tokens = PackedTokens | UniqueTokens


class Attention(nn.Module):
    """Multi-head attention: softmax, or linear with logits divided by the number of keys seen (equation 6)."""

    def __init__(self, models: int, width: int, heads: int, kind: Kind):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.queries = Linear(models, width, width)
        self.keys_values = Linear(models, width, 2 * width)
        self.output = Linear(models, width, width)

    def forward(self, h: Float[Tensor, "E b T D"], tokens: Tokens, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """The attention output of each query."""
        q, k, v = self.project(h, tokens, encoding)  # E B H Q d, E B H T d, E B H T d; or thrice E 1 H R d
        if isinstance(tokens, PackedTokens) and tokens.extend is not None:
            k, v = tokens.extend(k, v)
        logits = self.logits(q, k, tokens, encoding)  # E B H Q K; or E H R R
        weights = self.weights(logits, tokens)  # E B H Q K; or E B Q H R
        return tokens.mix(weights, v, self.output)  # E B Q D

    def project(
        self, h: Float[Tensor, "E b T D"], tokens: Tokens, encoding: Encoding
    ) -> tuple[Float[Tensor, "E b H q d"], Float[Tensor, "E b H T d"], Float[Tensor, "E b H T d"]]:
        """Queries, keys and values; the encoding rotates queries and keys, and scales the logits of each query."""
        first = tokens.first_query
        q = self.queries(h[:, :, first:]).unflatten(-1, (self.heads, -1))
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        query_positions = tokens.positions[..., first:]
        q, k = encoding.rotate(q, query_positions), encoding.rotate(k, tokens.positions)
        logit_scale = encoding.sharpen(query_positions)
        if logit_scale is not None:
            q = q * logit_scale[..., None, None].to(q.dtype)
        return q.transpose(2, 3), k.transpose(2, 3), v.transpose(2, 3)

    def logits(
        self, q: Float[Tensor, "E b H q d"], k: Float[Tensor, "E b H T d"], tokens: Tokens, encoding: Encoding
    ) -> Float[Tensor, "*N Q K"]:
        """q . k / sqrt(d) + bias, or (q . k + bias) / n for linear attention; not masked yet.

        Division by sqrt(d) keeps the variance of products of independent unit entries at 1. Equation 6 has the number n
        of keys seen instead.
        """
        products = encoding.products(q, k, tokens.relative, tokens.products)
        if self.kind == "softmax":
            products = products * q.shape[-1] ** -0.5
        logits = products if tokens.bias is None else products + tokens.bias
        return logits if self.kind == "softmax" else logits / tokens.keys_seen()

    def weights(self, logits: Float[Tensor, "*N Q K"], tokens: Tokens) -> Float[Tensor, "*M K"]:
        """The attention weights: logits masked, and normalized by softmax unless attention is linear."""
        logits = self.apply_mask(logits, tokens.mask)
        if isinstance(tokens, UniqueTokens):  # from the table to the queries of each sequence, and the keys it holds
            rows = tokens.gather(logits.transpose(1, 2))  # E B Q H R
            logits = self.apply_mask(rows, tokens.held[:, :, None, None])
        return logits.softmax(-1) if self.kind == "softmax" else logits

    def apply_mask(self, logits: Float[Tensor, "..."], mask: Bool[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Logits that give no weight to keys outside the mask."""
        if self.kind == "linear":
            return logits * mask
        return logits + torch.zeros_like(mask, dtype=logits.dtype).masked_fill_(~mask, -math.inf)


class Block(nn.Module):
    """Attention and an MLP, each added to the residual stream, with normalization before, after or not at all."""

    def __init__(self, models: int, width: int, heads: int, hidden: int, norm: Norm, kind: Kind):
        super().__init__()
        self.attention = Attention(models, width, heads, kind)
        self.mlp = MLP(models, width, hidden, width)
        self.pre1, self.pre2 = (LayerNorm(models, width) if norm == "pre" else nn.Identity() for _ in range(2))
        self.post1, self.post2 = (LayerNorm(models, width) if norm == "post" else nn.Identity() for _ in range(2))

    def forward(self, h: Float[Tensor, "E b T D"], tokens: Tokens, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """The residual stream of the queries after this block."""
        h = self.post1(tokens.queries(h) + self.attention(self.pre1(h), tokens, encoding))
        return self.post2(h + self.mlp(self.pre2(h)))
