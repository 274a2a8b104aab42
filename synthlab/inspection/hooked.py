"""One trained model with hook points at the places of docs/inside.md: whole texts, no packed rows.

Read it from ``HookedTransformer.forward`` to ``HookedBlock`` and ``HookedAttention``. The names are those of
TransformerLens (Nanda and Bloom, 2022) where it has them. It runs the layers of the model itself, over the plain
layout: training one trains the other.

Letters of shapes: B batch, T tokens, D width, H heads, d = D / H; queries Q and keys K are the T tokens; V outputs: 1
for regression, the vocabulary for a language. Layers have a first dimension of models, here one.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.config.argument_checks import shorten
from synthlab.config.registry import describe_unknown
from synthlab.errors import InputError
from synthlab.models.attention import Attention, Block, Causal, causal_mask
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.plain import NoPE
from synthlab.models.layers import MLP
from synthlab.models.transformer import Decoder

NOPE = NoPE(Dims(width=1, heads=1))  # NoPE ignores the sizes


class HookPoint(nn.Identity):
    """A named identity: hooks registered here see the values, without the dimension of models, and may replace them.

    Attributes:
        name: Its place, such as ``blocks.0.attn.hook_pattern``.
    """

    name = ""

    def __call__(self, values: Float[Tensor, "1 *N"]) -> Float[Tensor, "1 *N"]:
        """Return the values, or their replacement by hooks."""
        return super().__call__(values.squeeze(0)).unsqueeze(0)


class HookedAttention(nn.Module):
    """The steps of ``Attention.forward``, with a hook point after each."""

    def __init__(self, attention: Attention):
        super().__init__()
        self.attention = attention
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        self.hook_position_scores, self.hook_unmasked_scores = HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "1 B T D"], layout: Causal, encoding: Encoding) -> Float[Tensor, "1 B T D"]:
        """Return what attention adds to the residual stream."""
        q, k, v = self.attention.project(h, layout)  # 1 B T H d
        q, k, v = self.hook_q(q), self.hook_k(k), self.hook_v(v)
        scores = self.hook_attn_scores(self.attention.mask(self.score(q, k, layout, encoding), layout.mask))
        pattern = self.hook_pattern(self.attention.normalize(scores))  # 1 B H Q K
        z = self.hook_z(layout.mix(pattern, v.transpose(2, 3)).transpose(2, 3))  # 1 B T H d
        to_stream = self.attention.output.weight.unflatten(1, (self.attention.heads, -1))  # 1 H d D
        result = self.hook_result(torch.einsum("ebthd,ehdD->ebthD", z, to_stream))  # the contribution of each head
        return result.sum(-2) + self.attention.output.bias

    def score(
        self, q: Float[Tensor, "1 B T H d"], k: Float[Tensor, "1 B T H d"], layout: Causal, encoding: Encoding
    ) -> Float[Tensor, "1 B H Q K"]:
        """Return the attention logits: a part from queries and keys without positions, and a part from the encoding."""
        rot_q, rot_k = self.attention.rotate(q, k, layout, encoding)
        rot_q, rot_k = self.hook_rot_q(rot_q), self.hook_rot_k(rot_k)
        q, k, rot_q, rot_k = (each.transpose(2, 3) for each in (q, k, rot_q, rot_k))
        content = self.attention.score(q, k, replace(layout, bias=None, relative=None), NOPE)
        scores = self.attention.score(rot_q, rot_k, layout, encoding)
        return self.hook_unmasked_scores(content + self.hook_position_scores(scores - content))


class HookedMLP(nn.Module):
    """An MLP with one hidden layer."""

    def __init__(self, mlp: MLP):
        super().__init__()
        self.mlp = mlp
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "1 B T D"]) -> Float[Tensor, "1 B T V"]:
        first, activation, second = self.mlp
        return second(self.hook_post(activation(self.hook_pre(first(h)))))


class HookedBlock(nn.Module):
    """Attention and an MLP, each added to the residual stream, with normalization before, after or not at all."""

    def __init__(self, block: Block):
        super().__init__()
        self.attn, self.mlp = HookedAttention(block.attention), HookedMLP(block.mlp)
        self.pre1, self.pre2, self.post1, self.post2 = block.pre1, block.pre2, block.post1, block.post2
        self.hook_resid_pre, self.hook_resid_mid, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_out, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(self, h: Float[Tensor, "1 B T D"], layout: Causal, encoding: Encoding) -> Float[Tensor, "1 B T D"]:
        """Return the residual stream after this block."""
        h = self.hook_resid_pre(h)
        h = self.hook_resid_mid(self.post1(h + self.hook_attn_out(self.attn(self.pre1(h), layout, encoding))))
        return self.hook_resid_post(self.post2(h + self.hook_mlp_out(self.mlp(self.pre2(h)))))


class HookedTransformer(nn.Module):
    """A trained decoder as a module that takes tokens: hooks, gradients, ``state_dict``, ``torch.export``.

    Args:
        model: A decoder of the lab, an ensemble of one: ``TrainedModel.module``. Its layers are shared.

    Raises:
        InputError: ``model`` is an ensemble of several models.
    """

    def __init__(self, model: Decoder):
        super().__init__()
        models = len(model.token_embeddings)
        if models != 1:
            raise InputError(f"model: an ensemble of {models}; must be an ensemble of one")
        self.token_embeddings, self.encoding = model.token_embeddings, model.encoding
        self.blocks = nn.ModuleList(HookedBlock(block) for block in model.blocks)
        self.norm = model.norm
        self.head = HookedMLP(model.head) if isinstance(model.head, MLP) else model.head
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.hook_normalized, self.hook_out = HookPoint(), HookPoint()
        for name, module in self.named_modules():
            if isinstance(module, HookPoint):
                module.name = name

    def __call__(self, tokens: Any, positions: Any = None) -> Any:
        """Check the arguments, and return what ``forward`` returns."""
        if not torch.compiler.is_compiling():  # an exported graph cannot depend on values
            self._check(tokens, positions)
        return super().__call__(tokens, positions)

    def forward(
        self, tokens: Int[Tensor, "B T"], positions: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Return the output at every token.

        A sequence of a regression task is BOS (2), its symbols, EOS (3), and its output is that of EOS. ``positions``
        are 0..T - 1 by default. Called as a module, it raises InputError for invalid tokens and positions.
        """
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        layout = Causal.build(self.encoding, positions[None], causal_mask(tokens.shape[1], tokens.device))
        h = self.hook_embed(self.token_embeddings[:, tokens])  # 1 B T D
        h = h + self.hook_pos_embed(self.encoding.embed(h, positions[None]) - h)
        for block in self.blocks:
            h = block(h, layout, self.encoding)
        return self.hook_out(self.head(self.hook_normalized(self.norm(h)))).squeeze(0)

    def _check(self, tokens: Any, positions: Any) -> None:
        """Raise InputError unless ``tokens`` are known ones, [B, T], and ``positions`` of the same shape, or None."""
        shape = list(tokens.shape) if isinstance(tokens, Tensor) else []
        of_positions = (self.encoding.longest(), "positions of the encoding")
        of_tokens = (self.token_embeddings.shape[1], "tokens")
        for name, values, (end, what) in (("tokens", tokens, of_tokens), ("positions", positions, of_positions)):
            if values is None and name == "positions":
                continue
            values = cast(Tensor, values)
            whole = isinstance(values, Tensor) and values.dtype in (torch.int64, torch.int32)
            if not whole or len(shape) != 2 or list(values.shape) != shape or not values.numel():
                must = "integers [B, T], one or more" if name == "tokens" else f"integers {shape}, as tokens"
                raise InputError(f"{name}={shorten(values)}: must be {must}")
            if not 0 <= int(values.min()) <= int(values.max()) < end:
                raise InputError(f"{name}: from {values.min()} to {values.max()}; must be 0 to {end - 1:g}, {what}")

    def hook_points(self) -> dict[str, HookPoint]:
        """Return every hook point by its name, in the order of computation within each module."""
        return {name: module for name, module in self.named_modules() if isinstance(module, HookPoint)}


def full_name(name: Any, names: Iterable[str]) -> str:
    """Return the one of ``names`` that a short name, such as ``("pattern", 0)``, stands for.

    It ends in ``hook_{name[0]}`` in the block ``name[1]``. Raises InputError if there is none.
    """
    names = list(names)
    if isinstance(name, tuple) and len(name) == 2:
        start, end = f"blocks.{name[1]}.", f".hook_{name[0]}"
        for full in names:
            if full.startswith(start) and full.endswith(end):
                return full
    raise InputError(describe_unknown("name", name, names))
