"""Positions that count a text's tokens without its padding, for models of Transformers."""

import inspect
from typing import Any, TypeGuard

from torch import Tensor, nn

from synthlab.models.language_model import token_positions


def count_tokens_alone(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[()], dict[str, Any]]:
    """Add positions by the ``attention_mask`` to a call of a Transformers model that has none: a forward pre-hook.

    Without given positions, Transformers counts padding too. Plain RoPE is not affected, since it depends only on
    differences; encodings that depend on the positions or on the length are.

    Args:
        model: The model that is called.
        args: The call's arguments without a keyword.
        kwargs: The call's keyword arguments.

    Returns:
        All arguments by keyword, with ``position_ids`` of the tokens of this call if some of the text is padding.
    """
    given = dict(zip(inspect.signature(model.forward).parameters, args, strict=False)) | kwargs
    mask = given.get("attention_mask")
    tokens = next((each for each in map(given.get, ("input_ids", "inputs_embeds")) if each is not None), None)
    if tokens is not None and given.get("position_ids") is None and tells_padding(mask) and not mask.all():
        # These follow the tokens of a cache.
        given["position_ids"] = token_positions(mask.bool())[:, -tokens.shape[1] :]
    return (), given


def tells_padding(mask: Any) -> TypeGuard[Tensor]:
    """Return True if a mask has an entry for each token, not for each query and key."""
    return isinstance(mask, Tensor) and mask.ndim == 2
