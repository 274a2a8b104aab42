"""Sparse attention in the training of causal models of Hugging Face's Transformers.

Transformers itself is not imported: a model is any module with its interface.
"""

import inspect
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS

KERNELS = ("eager", "sdpa")  # the attention functions that accept a mask for each head


def sparse_in_training(model: nn.Module, name: str, **arguments: Any) -> RemovableHandle:
    """Make a causal model attend by a pattern in training mode; evaluation mode is unchanged.

    Each call in training mode gets the mask [B, H, T, T] of the pattern as its ``attention_mask``.

    Args:
        model: A model of Transformers whose ``attn_implementation`` is eager or sdpa, which accept such masks.
        name: shifted or rolled, the patterns of LongLoRA; the second leaks future tokens.
        arguments: The keys of conf/pattern/NAME.yaml.

    Returns:
        A handle whose method ``remove`` removes the pattern.

    Raises:
        InputError: The pattern is unknown or its arguments are wrong; or, in a call, texts are padded, do not fit the
            groups, or the attention function accepts no such mask.

    Example:
        >>> import torch
        >>> from synthlab.huggingface.sparse_attention import sparse_in_training
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(vocab_size=11, **sizes)).train()
        >>> pattern = sparse_in_training(model, "shifted", groups=2)
        >>> model(torch.arange(8)[None]).logits.shape
        torch.Size([1, 8, 11])
        >>> pattern.remove()
    """
    pattern = PATTERNS.build({"name": name, **arguments})

    def use(module: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        if not module.training:
            return None
        given = name_arguments(module, args, kwargs)
        mask = given.get("attention_mask")
        if mask is not None and not mask.all():
            raise InputError("attention_mask: has zeros; must be all ones, because groups divide whole windows")
        kernel = module.config._attn_implementation
        if kernel not in KERNELS:
            raise InputError(f"attn_implementation={kernel}: accepts no mask for each head; choose eager or sdpa")
        texts = next(each for each in map(given.get, ("input_ids", "inputs_embeds")) if each is not None)
        seen = pattern.mask(module.config.num_attention_heads, texts.shape[1]).to(module.device)
        if kernel == "eager":  # which adds the mask to the logits
            seen = torch.zeros_like(seen, dtype=module.dtype).masked_fill(~seen, torch.finfo(module.dtype).min)
        return (), given | {"attention_mask": seen.expand(len(texts), -1, -1, -1)}

    return model.register_forward_pre_hook(use, with_kwargs=True)


def name_arguments(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by keyword, for a forward pre-hook."""
    return dict(zip(inspect.signature(module.forward).parameters, args, strict=False)) | kwargs
