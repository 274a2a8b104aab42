"""Maps of relative positions for causal models of Hugging Face's Transformers. Needs the extra ``lm``.

No other module imports this one, so that the rest works without Transformers.
"""

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn

from synthlab.errors import InputError, describe_missing
from synthlab.huggingface.padding import count_tokens_alone, tells_padding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, add_products
from synthlab.models.encodings.relative_maps import RelativeRoPE, rotate_pairs

try:
    from transformers import AttentionInterface, AttentionMaskInterface  # pyright: ignore[reportMissingImports]
    from transformers.masking_utils import eager_mask  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.relative_maps", "transformers", "lm")) from error

NAME = "synthlab_relative"  # name of the attention function in the registry of Transformers
# Attribute of a layer that is its attention.
ATTENTION = {"llama": "self_attn", "mistral": "self_attn", "qwen2": "self_attn", "gpt_neox": "attention"}
MOVING = ("dynamic", "longrope")  # kinds of RoPE whose frequencies depend on the length


def with_map(model: Any, name: str, **arguments: Any) -> Any:
    """Return a causal model whose rotary embedding has a map of relative positions, as in conf/encoding.

    Args:
        model: A model of Transformers of type llama, mistral, qwen2 or gpt_neox. It is not changed.
        name: self_extend, rerope, leaky_rerope or dual_chunk.
        arguments: The keys of conf/encoding/NAME.yaml except ``base``: frequencies are those of the model.

    Returns:
        A copy of the model that shares its weights. It supports padding and a growing cache, as in ``generate``.
        Positions count the tokens of a text without padding, by ``attention_mask``; cached ones must be consecutive.
        Memory and time are those of eager attention, plus two matrices of queries and keys for each pair of dimensions.

    Raises:
        InputError: The model is of another type or its frequencies depend on the length; the map is unknown or its
            arguments are wrong; or, in a call, a cache is static, or has right-padded texts.

    Example:
        >>> import torch
        >>> from synthlab.huggingface.relative_maps import with_map
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(vocab_size=11, **sizes)).eval()
        >>> longer = with_map(model, "self_extend", window=8, group=4)
        >>> longer(torch.arange(11)[None]).logits.shape
        torch.Size([1, 11, 11])
    """
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    if kind not in ATTENTION:
        raise InputError(f"model={kind}: must be of a type among {', '.join(ATTENTION)}")
    maps = [each for each, encoding in ENCODINGS.items() if issubclass(encoding, RelativeRoPE)]
    if name not in maps:
        raise InputError(f"name={name}: must be a map of relative positions: {', '.join(maps)}")
    if "base" in arguments:
        raise InputError(f"base={arguments['base']}: must be left out; frequencies are those of the model")
    rotary = model.base_model.rotary_emb
    if rotary.rope_type in MOVING:
        raise InputError(f"model: has rope_type={rotary.rope_type}; must have frequencies that do not depend on length")
    dims = Dims(2 * len(rotary.inv_freq), 1)
    encoding = cast(RelativeRoPE, ENCODINGS.build({"name": name, "base": 1.0, **arguments}, dims))
    mapped = copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
    mapped.base_model.rotary_emb = _Unrotated(rotary, encoding)
    for layer in mapped.base_model.layers:
        getattr(layer, ATTENTION[kind]).rotary = mapped.base_model.rotary_emb
    mapped.base_model.register_forward_pre_hook(count_tokens_alone, with_kwargs=True)
    mapped.base_model.register_forward_pre_hook(_check_cache, with_kwargs=True)
    mapped.set_attn_implementation(NAME)
    return mapped


class _Unrotated(nn.Module):
    """A replacement of a model's rotary embedding that rotates nothing, since attention does."""

    def __init__(self, rotary: nn.Module, encoding: RelativeRoPE):
        super().__init__()
        self.encoding, self.attention_scaling = encoding, cast(Any, rotary).attention_scaling
        self.inv_freq: Tensor
        self.register_buffer("inv_freq", cast(Tensor, rotary.inv_freq).clone(), persistent=False)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosines and sines of angles of 0, [.., T, 2 pairs], times the scale of YaRN's queries and keys."""
        cos = x.new_full((*position_ids.shape, 2 * len(self.inv_freq)), self.attention_scaling)
        return cos, torch.zeros_like(cos)

    def logits(self, q: Tensor, k: Tensor, position_ids: Tensor) -> Tensor:
        """Return the products [B, H, Q, K] of queries [B, H, Q, d] and keys [B, H, K, d].

        Dimensions beyond the frequencies are not rotated, as in GPT-NeoX.
        """
        keys = _key_positions(position_ids, k.shape[2])
        own, pairs = position_ids[None, ..., None], len(self.inv_freq)
        relative = cast(Tensor, self.encoding.relative(own, keys[None, :, None].expand(-1, -1, q.shape[2], -1)))
        scale = self.encoding.sharpen(position_ids[None])
        if scale is not None:
            q = q * scale[0, :, None, :, None].to(q.dtype)
        halves = [each[..., : 2 * pairs].unflatten(-1, (2, pairs)).mT.flatten(-2) for each in (q, k)]
        rotated = add_products(rotate_pairs(halves[0], halves[1], relative[0], self.inv_freq.double()), _multiply)
        return rotated + _multiply(q[..., 2 * pairs :], k[..., 2 * pairs :])


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    *,
    position_ids: Tensor,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """Return attention outputs [B, T, H, d] and weights, from [B, H, T, d], as Transformers calls it.

    Heads may share keys.
    """
    shared = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(shared, 1) for each in (key, value))
    logits = cast(_Unrotated, module.rotary).logits(query, key, position_ids) * scaling
    if attention_mask is not None:
        logits = logits + attention_mask
    weights = logits.softmax(-1, dtype=torch.float32).to(query.dtype)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def _key_positions(position_ids: Tensor, keys: int) -> Tensor:
    """Return the positions of the keys [B, K], given those of the queries [B, Q], which are the last of them."""
    if position_ids.shape[1] == keys:
        return position_ids
    if (position_ids.diff() != 1).any():
        raise InputError("position_ids: must be consecutive with a cache, which does not store positions")
    return position_ids[:, -1:] - torch.arange(keys - 1, -1, -1, device=position_ids.device)


def _multiply(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT


def _check_cache(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise InputError for a cache whose key positions do not follow from those of the new tokens."""
    cache, mask = (kwargs.get(name) for name in ("past_key_values", "attention_mask"))
    if cache is None:
        return
    if cache.is_compileable:
        raise InputError(f"past_key_values={type(cache).__name__}: must be a cache that grows, as DynamicCache")
    if tells_padding(mask) and cache.get_seq_length() and (mask.long().diff() < 0).any():
        raise InputError("attention_mask: is padded on the right, with a cache; pad on the left")


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)

__all__ = ["with_map"]
