"""Attention and Transformer blocks.

``Attention.forward`` reads from top to bottom, over a layout that says which tokens see each other. ``Causal`` is the
plain layout: whole texts, each token sees those before it. ``packing.Packed`` holds all prefixes of a sequence in one
row. ``unique_tokens.TokenTable`` computes once what all sequences of a batch have in common. Long texts of the plain
layout go through PyTorch's fused attention, which computes the same and keeps no logits for each text and head.

Tensor letters: B batch (with models first, see ``layers``), T tokens, Q queries, K keys, D model width, H heads, d head
width. Hook points are named as in TransformerLens (Nanda and Bloom, 2022) where it has them; docs/reference.md has all.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.convolutions import Convolution
from synthlab.models.encodings.base import Encoding, add_products
from synthlab.models.layers import MLP, HookPoint, LayerNorm, Linear
from synthlab.models.mixers import Mixer, MixerLayer

Norm = Literal["pre", "post", "none"]
Kind = Literal["softmax", "linear"]

FUSED_FROM = 64  # from this many keys on, fused attention is at least as fast (docs/speed.md)


@dataclass(frozen=True)
class Causal:
    """The plain layout: whole texts of T tokens or, with a cache of earlier tokens, the last T of K.

    Attributes:
        encoding: The position encoding.
        positions: The position of each token, or what the encoding puts in its place.
        mask: True where a query sees a key.
        bias: What the position encoding adds to the logits, or None.
        relative: The relative positions that the encoding's ``products`` takes, or None.
        cache: Maps keys and values of these tokens to those of the whole text; None if these are the whole text.
        first_query: Index of the first of the T tokens that is a query.
    """

    encoding: Encoding
    positions: Shaped[Tensor, "#E #B T *C"]
    mask: Bool[Tensor, "*rows Q K"]
    bias: Float[Tensor, "*#B H Q K"] | None = None
    relative: Float[Tensor, "*#B 1 Q K"] | None = None
    cache: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    first_query: int = 0

    @classmethod
    def build(cls, encoding: Encoding, positions: Int[Tensor, "#E #B K"], mask: Bool[Tensor, "*rows T K"]) -> "Causal":
        """Lay out the last T of K tokens, given the positions of all and which keys each sees."""
        layout = cls(encoding, positions[:, :, -mask.shape[-2] :], mask)
        return layout if layout.locates else layout.encode(layout.positions, positions)

    @property
    def locates(self) -> bool:
        """True if the encoding makes positions of the hidden states of each layer."""
        return "locate" in self.encoding.hooks

    def locate(self, h: Float[Tensor, "E B T D"]) -> "Causal":
        """Return the layout of a layer whose attention reads ``h``, with the positions that the encoding makes of h."""
        positions = self.encoding.locate(h, self.positions, self.add_up)
        return replace(self, positions=positions).encode(positions[:, :, self.first_query :], positions)

    def encode(self, own: Shaped[Tensor, "#E #B Q *C"], positions: Shaped[Tensor, "#E #B K *C"]) -> "Causal":
        """Return the layout with what the encoding makes of the positions of queries, ``own``, and of keys."""
        query, key = self.pair(own, positions)
        return replace(self, bias=self.encoding.bias(query, key), relative=self.encoding.relative(query, key))

    def add_up(self, values: Float[Tensor, "E B T *C"]) -> Float[Tensor, "E B T *C"]:
        """Return for each token the sum over the tokens of its text up to itself."""
        return values.cumsum(2)

    def pair(
        self, own: Shaped[Tensor, "#E #B Q *C"], positions: Shaped[Tensor, "#E #B K *C"]
    ) -> tuple[Shaped[Tensor, "#E #B Q 1 *C"], Shaped[Tensor, "#E #B Q K *C"]]:
        """Return the position of each query, and those of its keys."""
        return own.unsqueeze(3), positions.unsqueeze(2).expand(*own.shape[:3], *positions.shape[2:])

    def only_last(self, count: int) -> "Causal":
        """Return the same texts with their last ``count`` tokens as the only queries."""
        bias, relative = (None if each is None else each[..., -count:, :] for each in (self.bias, self.relative))
        first = self.positions.shape[-1] - count
        return replace(self, mask=self.mask[..., -count:, :], bias=bias, relative=relative, first_query=first)

    def attend(
        self, block: "Block", h: Float[Tensor, "*B T D"]
    ) -> tuple[Float[Tensor, "*B Q D"], Float[Tensor, "*B Q D"]]:
        """Return the residual stream of the queries before attention, and what attention adds to it."""
        inputs = block.pre1(h)
        if block.convolution is not None:
            inputs = block.convolution(inputs, partial(self.shift, inputs))
        return h[..., self.first_query :, :], block.attention(inputs, self)

    def shift(self, h: Float[Tensor, "*B T D"], places: int) -> Float[Tensor, "*B T D"]:
        """Return for each token the hidden state of the token so many places before it in its text, or zeros."""
        return F.pad(h, (0, 0, places, 0))[..., : h.shape[-2], :]

    def read_texts(self, mixer: Mixer, h: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        """Return the output of a mixer at each token."""
        return mixer(h)

    def by_head(self, values: Float[Tensor, "*B T H d"]) -> Float[Tensor, "*B H T d"]:
        """Arrange queries, keys or values by heads."""
        return values.transpose(-3, -2)

    def products(self, q: Float[Tensor, "*B H Q p"], k: Float[Tensor, "*B H K p"]) -> Float[Tensor, "*B H Q K"]:
        """Multiply each query by its keys."""
        return q @ k.mT

    def by_text(self, logits: Float[Tensor, "*B H Q K"], attention: "Attention") -> Float[Tensor, "*B H Q K"]:
        """Return masked logits as softmax takes them: those of the queries of each text."""
        return logits

    def mix(self, weights: Float[Tensor, "*B H Q K"], v: Float[Tensor, "*B H K d"]) -> Float[Tensor, "*B H Q d"]:
        """Sum the values that each query sees, by its attention weights."""
        return weights @ v

    def project_output(
        self, weights: Float[Tensor, "*B H Q K"], v: Float[Tensor, "*B H T d"], attention: "Attention"
    ) -> Float[Tensor, "... D"]:
        """Return the attention output of each query, by its attention weights."""
        return attention.project_output(self.by_token(self.mix(weights, v)))

    def by_token(self, heads: Float[Tensor, "*B H Q d"]) -> Float[Tensor, "*B Q H d"]:
        """Arrange the outputs of heads by tokens."""
        return heads.transpose(-3, -2)

    def count_keys(self) -> Int[Tensor, "*rows Q 1"]:
        """Count the keys that each query sees."""
        return self.mask.sum(-1, keepdim=True)

    @cached_property
    def logit_offsets(self) -> Float[Tensor, "*rows Q K"]:
        """What is added to logits: the bias, and minus infinity where the mask is False."""
        masked = mask_as_logits(self.mask, torch.get_default_dtype())
        return masked if self.bias is None else masked + self.bias

    def can_fuse(self) -> bool:
        """Return True if PyTorch's fused attention applies to these texts and is worth its start-up.

        It applies where logits are inner products plus a constant.
        """
        is_constant = self.bias is None or not self.bias.requires_grad
        is_plain = type(self.encoding).products is Encoding.products and not self.encoding.hooks & {"adjust", "weigh"}
        return is_constant and is_plain and self.mask.shape[-1] >= FUSED_FROM


def lay_out_layers(encodings: Sequence[Encoding], build: Callable[[Encoding], Causal]) -> list[Causal]:
    """Return the layout of each layer, given its encoding; ``build`` makes that of each encoding, once."""
    built = {each: build(each) for each in dict.fromkeys(encodings)}
    return [built[each] for each in encodings]


def causal_mask(length: int, device: torch.device) -> Bool[Tensor, "T T"]:
    """Return the causal mask: True where a token sees another, itself and all before it."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def mask_as_logits(mask: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """Return what is added to logits for a mask: 0 where it is True, minus infinity elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -math.inf)


class Attention(nn.Module):
    """Multi-head attention: softmax, or linear with logits divided by the number of keys seen (equation 6)."""

    CALLED = "attn"

    def __init__(self, models: int, width: int, heads: int, kind: Kind):
        super().__init__()
        self.heads, self.kind, self.scale = heads, kind, (width // heads) ** -0.5
        self.queries = Linear(models, width, width)
        self.keys_values = Linear(models, width, 2 * width)
        self.output = Linear(models, width, width)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        self.hook_position_scores, self.hook_unmasked_scores = HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "*B T D"], layout: Causal) -> Float[Tensor, "... Q D"]:
        """Return the attention output of each query."""
        if layout.locates:
            layout = layout.locate(h)
        q, k, v = self.project(h, layout)  # *B Q H d, *B T H d, *B T H d
        rot_q, rot_k = self.rotate(q, k, layout)
        rot_q, rot_k, v = (layout.by_head(each) for each in (rot_q, rot_k, v))  # *B H Q d, *B H T d, *B H T d
        if layout.cache is not None:
            rot_k, v = layout.cache(rot_k, v)  # *B H K d
        if self.kind == "softmax" and layout.can_fuse() and not self.is_watched():
            heads = attend_fused(rot_q, rot_k, v, layout.logit_offsets)  # *B H Q d
            return self.project_output(layout.by_token(heads))
        scores = self.score(rot_q, rot_k, layout)  # *B H Q K
        if self.hook_position_scores.is_watched:
            plain = replace(layout, encoding=Encoding(), bias=None, relative=None)
            content = self.score(layout.by_head(q), layout.by_head(k), plain)
            scores = content + self.hook_position_scores(scores - content)
        scores = self.mask(self.hook_unmasked_scores(scores), layout.mask)
        scores = self.hook_attn_scores(layout.by_text(scores, self))
        pattern = layout.encoding.weigh(scores) if "weigh" in layout.encoding.hooks else self.normalize(scores)
        return layout.project_output(self.hook_pattern(pattern), v, self)

    def project_output(self, z: Float[Tensor, "*B Q H d"]) -> Float[Tensor, "*B Q D"]:
        """Return the output of the values that each head has summed."""
        z = self.hook_z(z)
        if self.hook_result.is_watched:
            return self.hook_result(self.output.contributions(z)).sum(-2) + self.output.bias
        return self.output(z.flatten(-2))

    def project(
        self, h: Float[Tensor, "*B T D"], layout: Causal
    ) -> tuple[Float[Tensor, "*B Q H d"], Float[Tensor, "*B T H d"], Float[Tensor, "*B T H d"]]:
        """Return queries, keys and values."""
        q = self.queries(h[..., layout.first_query :, :]).unflatten(-1, (self.heads, -1))
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        return self.hook_q(q), self.hook_k(k), self.hook_v(v)

    def rotate(
        self, q: Float[Tensor, "*B Q H d"], k: Float[Tensor, "*B T H d"], layout: Causal
    ) -> tuple[Float[Tensor, "*B Q H p"], Float[Tensor, "*B T H p"]]:
        """Rotate queries and keys by their positions, and multiply each query by its logit scale."""
        encoding, own = layout.encoding, layout.positions[:, :, layout.first_query :]
        q, k = encoding.rotate(q, own), encoding.rotate_keys(k, layout.positions)
        logit_scale = encoding.sharpen(own)
        if logit_scale is not None:
            q = q * logit_scale[(..., *[None] * (q.dim() - logit_scale.dim()))].to(q.dtype)
        return self.hook_rot_q(q), self.hook_rot_k(k)

    def score(
        self, q: Float[Tensor, "*B H Q p"], k: Float[Tensor, "*B H T p"], layout: Causal
    ) -> Float[Tensor, "*B H Q K"]:
        """Return the logits q . k / sqrt(d) + bias, or (q . k + bias) / n for linear attention, before masking.

        Division by sqrt(d) keeps the variance of products of independent unit entries at 1. Equation 6 divides by the
        number n of visible keys instead.
        """
        if layout.relative is None:
            logits = layout.products(q, k)
        else:
            logits = add_products(layout.encoding.products(q, k, layout.relative), layout.products)
        if self.kind == "softmax":
            logits = logits * self.scale
        if layout.bias is not None:
            logits = logits + layout.bias
        if "adjust" in layout.encoding.hooks:
            logits = layout.encoding.adjust(logits, q, layout.mask, layout.bias)
        return logits if self.kind == "softmax" else logits / layout.count_keys()

    def mask(self, logits: Float[Tensor, "..."], mask: Bool[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Change logits so that keys outside the mask get no weight."""
        if self.kind == "linear":
            return logits * mask
        return logits + mask_as_logits(mask, logits.dtype)

    def normalize(self, logits: Float[Tensor, "*N Q K"]) -> Float[Tensor, "*N Q K"]:
        """Turn logits into attention weights: by softmax, or unchanged for linear attention."""
        return logits.softmax(-1) if self.kind == "softmax" else logits

    def is_watched(self) -> bool:
        """Return True if hooks see logits or weights, which fused attention does not compute."""
        points = (self.hook_position_scores, self.hook_unmasked_scores, self.hook_attn_scores, self.hook_pattern)
        return any(point.is_watched for point in points)


def attend_fused(
    q: Float[Tensor, "*B H Q p"],
    k: Float[Tensor, "*B H K p"],
    v: Float[Tensor, "*B H K d"],
    offsets: Float[Tensor, "*rows Q K"],
) -> Float[Tensor, "*B H Q d"]:
    """Return softmax attention in one call: each query's values, weighted by softmax(q . k / sqrt(d) + ``offsets``)."""
    batch = q.shape[:-3]
    if offsets.dim() > 2:
        offsets = offsets.expand(*batch, -1, -1, -1).flatten(0, -4)
    q, k, v = (each.flatten(0, -4) for each in (q, k, v))
    scale = 1 / math.sqrt(v.shape[-1])  # an encoding may widen queries and keys
    return F.scaled_dot_product_attention(q, k, v, attn_mask=offsets.to(q.dtype), scale=scale).unflatten(0, batch)


class Block(nn.Module):
    """Attention (or a mixer) and an MLP, each added to the residual stream, normalized before, after or not at all.

    A short convolution may come before attention.
    """

    def __init__(
        self,
        models: int,
        width: int,
        heads: int,
        hidden: int,
        norm: Norm,
        kind: Kind,
        mixer: Mixer | None = None,
        convolution: Convolution | None = None,
    ):
        super().__init__()
        self.convolution = convolution
        self.attention = Attention(models, width, heads, kind) if mixer is None else MixerLayer(mixer)
        self.mlp = MLP(models, width, hidden, width)
        self.pre1, self.pre2 = (LayerNorm(models, width) if norm == "pre" else nn.Identity() for _ in range(2))
        self.post1, self.post2 = (LayerNorm(models, width) if norm == "post" else nn.Identity() for _ in range(2))
        self.hook_resid_pre, self.hook_resid_mid, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_out, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "*B T D"], layout: Causal) -> Float[Tensor, "... Q D"]:
        """Return the residual stream of the queries after this block."""
        h, attended = layout.attend(self, self.hook_resid_pre(h))
        h = self.hook_resid_mid(self.post1(h + self.hook_attn_out(attended)))
        return self.hook_resid_post(self.post2(h + self.hook_mlp_out(self.mlp(self.pre2(h)))))
