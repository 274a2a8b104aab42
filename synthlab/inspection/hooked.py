"""One trained model as a plain module: no ensemble, no packed rows, and hook points at the places of docs/inside.md.

Read it from ``HookedTransformer.forward`` to ``HookedBlock`` and ``HookedAttention``. The names are TransformerLens'
(Nanda and Bloom, 2022) where it has them. It computes what ``models.transformer`` and ``language.model`` compute, up to
rounding, and its parameters are views of theirs: training one trains the other.

Letters of shapes: B batch, T tokens, D width, H heads, d = D / H, M hidden width of an MLP; queries Q and keys K are
the T tokens; V outputs: 1 for regression, the vocabulary for a language.
"""

import math
from collections.abc import Iterable
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.config.arguments import in_short
from synthlab.config.registry import unknown
from synthlab.errors import InputError
from synthlab.models.attention import Attention, Block
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import MLP, LayerNorm, Linear
from synthlab.models.transformer import Decoder


class HookPoint(nn.Identity):
    """A named place where values pass through: hooks registered here see them and may replace them.

    Attributes:
        name: Where it is, such as ``blocks.0.attn.hook_pattern``.
    """

    name = ""


class HookedAttention(nn.Module):
    """Multi-head attention of one model, causal: softmax, or linear with logits divided by the number of keys seen."""

    def __init__(self, attention: Attention):
        super().__init__()
        self.heads, self.kind = attention.heads, attention.kind
        self.queries, self.keys_values = _linear(attention.queries), _linear(attention.keys_values)
        self.output = _linear(attention.output)
        head_width = self.queries.out_features // self.heads
        self.scale = head_width**-0.5 if self.kind == "softmax" else 1.0
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        self.hook_position_scores, self.hook_unmasked_scores = HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], encoding: Encoding):
        """What attention adds to the residual stream, [B, T, D]."""
        q = self.hook_q(self.queries(h).unflatten(-1, (self.heads, -1)))  # B T H d
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        k, v = self.hook_k(k), self.hook_v(v)
        pattern = self.weights(self.scores(q, k, positions, encoding))  # B H Q K
        z = self.hook_z(torch.einsum("bhqk,bkhd->bqhd", pattern, v))
        to_stream = self.output.weight.unflatten(1, (self.heads, -1))  # D H d
        result = self.hook_result(torch.einsum("bqhd,Dhd->bqhD", z, to_stream))  # what each head adds
        return result.sum(-2) + self.output.bias

    def scores(
        self,
        q: Float[Tensor, "B T H d"],
        k: Float[Tensor, "B T H d"],
        positions: Int[Tensor, "B T"],
        encoding: Encoding,
    ) -> Float[Tensor, "B H Q K"]:
        """The attention logits: those of the same queries and keys without positions, and what the encoding adds."""
        content = self._products(q, k)
        own, keys = positions[None, :, :, None], positions[None, :, None, :].expand(1, *content.shape[::2], -1)
        bias, relative = encoding.bias(own, keys), encoding.relative(own, keys)
        relative = None if relative is None else relative.squeeze(0)
        scores = encoding.products(*self.rotated(q, k, positions, encoding), relative, self._products)
        if bias is not None:
            scores = scores + bias.squeeze(0)
        if self.kind == "linear":
            content, scores = (values / _keys_seen(values) for values in (content, scores))
        return self.hook_unmasked_scores(content + self.hook_position_scores(scores - content))

    def rotated(
        self,
        q: Float[Tensor, "B T H d"],
        k: Float[Tensor, "B T H d"],
        positions: Int[Tensor, "B T"],
        encoding: Encoding,
    ) -> tuple[Float[Tensor, "B T H d"], Float[Tensor, "B T H d"]]:
        """Queries and keys as the encoding rotates them; queries multiplied by their logit scale."""
        q, k = (encoding.rotate(each[None], positions[None]).squeeze(0) for each in (q, k))
        logit_scale = encoding.sharpen(positions[None])
        if logit_scale is not None:
            q = q * logit_scale.squeeze(0)[..., None, None].to(q.dtype)
        return self.hook_rot_q(q), self.hook_rot_k(k)

    def weights(self, scores: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q K"]:
        """The attention weights: logits masked, and normalized by softmax unless attention is linear."""
        future = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        scores = self.hook_attn_scores(scores.masked_fill(future, 0.0 if self.kind == "linear" else -math.inf))
        return self.hook_pattern(scores if self.kind == "linear" else scores.softmax(-1))

    def _products(self, q: Float[Tensor, "B T H d"], k: Float[Tensor, "B T H d"]) -> Float[Tensor, "B H Q K"]:
        return torch.einsum("bqhd,bkhd->bhqk", q, k) * self.scale


class HookedMLP(nn.Module):
    """An MLP with one hidden layer."""

    def __init__(self, mlp: MLP):
        super().__init__()
        self.first, self.second = (_linear(cast(Linear, mlp[place])) for place in (0, 2))
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        return self.second(self.hook_post(F.gelu(self.hook_pre(self.first(h)))))  # hidden: B T M


class HookedBlock(nn.Module):
    """Attention and an MLP, each added to the residual stream, with normalization before, after or not at all."""

    def __init__(self, block: Block):
        super().__init__()
        self.attn, self.mlp = HookedAttention(block.attention), HookedMLP(block.mlp)
        self.ln1, self.ln2 = _norm(block.pre1), _norm(block.pre2)
        self.ln1_post, self.ln2_post = _norm(block.post1), _norm(block.post2)
        self.hook_resid_pre, self.hook_resid_mid, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_out, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], encoding: Encoding):
        """The residual stream after this block, [B, T, D]."""
        h = self.hook_resid_pre(h)
        h = self.hook_resid_mid(self.ln1_post(h + self.hook_attn_out(self.attn(self.ln1(h), positions, encoding))))
        return self.hook_resid_post(self.ln2_post(h + self.hook_mlp_out(self.mlp(self.ln2(h)))))


class HookedTransformer(nn.Module):
    """A trained decoder, one model, as a plain module: ``state_dict``, hooks, gradients, ``torch.export``.

    Args:
        model: A decoder of the lab, an ensemble of one: ``TrainedModel.module``.

    Raises:
        InputError: It is an ensemble of several.
    """

    def __init__(self, model: Decoder):
        super().__init__()
        models = len(model.token_embeddings)
        if models != 1:
            raise InputError(f"model: an ensemble of {models}; must be an ensemble of one")
        self.embed = nn.Embedding.from_pretrained(model.token_embeddings.detach()[0], freeze=False)
        self.encoding = model.encoding
        self.blocks = nn.ModuleList(HookedBlock(block) for block in model.blocks)
        self.ln_final = _norm(model.norm)
        self.head = HookedMLP(model.head) if isinstance(model.head, MLP) else _linear(cast(Linear, model.head))
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.hook_normalized, self.hook_out = HookPoint(), HookPoint()
        for name, module in self.named_modules():
            if isinstance(module, HookPoint):
                module.name = name

    def __call__(self, tokens: Any, positions: Any = None) -> Any:
        """What ``forward`` returns."""
        if not torch.compiler.is_compiling():  # what is exported depends on no number
            self._check(tokens, positions)
        return super().__call__(tokens, positions)

    def forward(
        self, tokens: Int[Tensor, "B T"], positions: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """The output at every token. A sequence of a regression task is BOS (2), its symbols, EOS (3), and its output
        is that of EOS. ``positions`` are 0..T - 1 unless given. Called as a module, it raises InputError for other
        tokens and positions."""
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        h = self.hook_embed(self.embed(tokens))  # B T D
        h = h + self.hook_pos_embed(self.encoding.embed(h[None], positions[None]).squeeze(0) - h)
        for block in self.blocks:
            h = block(h, positions, self.encoding)
        return self.hook_out(self.head(self.hook_normalized(self.ln_final(h))))

    def _check(self, tokens: Any, positions: Any) -> None:
        """Raise InputError unless ``tokens`` are known ones, [B, T], and ``positions`` as many, or None."""
        shape = list(tokens.shape) if isinstance(tokens, Tensor) else []
        of_positions = (self.encoding.longest(), "positions of the encoding")
        of_tokens = (self.embed.num_embeddings, "tokens")
        for name, values, (end, what) in (("tokens", tokens, of_tokens), ("positions", positions, of_positions)):
            if values is None and name == "positions":
                continue
            values = cast(Tensor, values)
            whole = isinstance(values, Tensor) and values.dtype in (torch.int64, torch.int32)
            if not whole or len(shape) != 2 or list(values.shape) != shape or not values.numel():
                must = "integers [B, T], one or more" if name == "tokens" else f"integers {shape}, as tokens"
                raise InputError(f"{name}={in_short(values)}: must be {must}")
            if not 0 <= int(values.min()) <= int(values.max()) < end:
                raise InputError(f"{name}: from {values.min()} to {values.max()}; must be 0 to {end - 1:g}, {what}")

    def hook_points(self) -> dict[str, HookPoint]:
        """Every hook point by its name, in the order of computation within each module."""
        return {name: module for name, module in self.named_modules() if isinstance(module, HookPoint)}


def full_name(name: Any, names: Iterable[str]) -> str:
    """Which of ``names`` is meant by a short name, such as ``("pattern", 0)``: the one that ends in
    ``hook_{name[0]}`` in the block ``name[1]``. Raises InputError where there is none."""
    names = list(names)
    if isinstance(name, tuple) and len(name) == 2:
        start, end = f"blocks.{name[1]}.", f".hook_{name[0]}"
        for full in names:
            if full.startswith(start) and full.endswith(end):
                return full
    raise InputError(unknown("name", name, names))


def _keys_seen(scores: Float[Tensor, "B H Q K"]) -> Int[Tensor, "Q 1"]:
    return torch.arange(1, scores.shape[-1] + 1, device=scores.device).unsqueeze(-1)


def _shared(parameter: Tensor) -> nn.Parameter:
    """A parameter of its own with the storage of another."""
    return nn.Parameter(parameter.detach())


def _linear(layer: Linear) -> nn.Linear:
    inputs, outputs = layer.weight.shape[1:]
    plain = nn.Linear(inputs, outputs, device="meta")
    plain.weight, plain.bias = _shared(layer.weight[0].mT), _shared(layer.bias[0, 0])
    return plain


def _norm(layer: nn.Module) -> nn.Module:
    if not isinstance(layer, LayerNorm):
        return nn.Identity()
    norm = nn.LayerNorm(layer.scale.shape[-1])
    norm.weight, norm.bias = _shared(layer.scale[0, 0]), _shared(layer.shift[0, 0])
    return norm
