"""Positions of padded texts: padding before a text, or after it, changes none of them."""

import inspect
from typing import Any, TypeGuard

from jaxtyping import Bool, Int
from torch import Tensor, nn


def token_positions(is_token: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Count each text's own tokens from 0.

    Args:
        is_token: False for padding.

    Returns:
        The position of each token. Padding has that of the token before it, or 0.
    """
    return (is_token.cumsum(-1) - 1).clamp(min=0)


def count_tokens_alone(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[()], dict[str, Any]]:
    """Give a model of Transformers positions by its ``attention_mask`` where a call has none: a forward pre-hook.

    Transformers counts padding, too, unless it is told the positions. Plain RoPE does not mind, as it sees differences
    alone; what depends on the positions or on the length does.

    Args:
        model: The model that is called.
        args: The call's arguments without a keyword.
        kwargs: Those with one.

    Returns:
        All arguments by keyword, with ``position_ids`` of the tokens of this call where some of the text is padding.
    """
    given = dict(zip(inspect.signature(model.forward).parameters, args, strict=False)) | kwargs
    mask = given.get("attention_mask")
    tokens = next((each for each in map(given.get, ("input_ids", "inputs_embeds")) if each is not None), None)
    if tokens is not None and given.get("position_ids") is None and tells_padding(mask) and not mask.all():
        given["position_ids"] = token_positions(mask.bool())[:, -tokens.shape[1] :]  # behind those of a cache
    return (), given


def tells_padding(mask: Any) -> TypeGuard[Tensor]:
    """Return True if a mask has an entry for each token, not for each query and key."""
    return isinstance(mask, Tensor) and mask.ndim == 2
