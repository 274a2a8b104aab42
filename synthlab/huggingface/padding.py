"""Positions that count a text's tokens and not its padding, for models of Transformers."""

import inspect
from typing import Any, TypeGuard

from torch import Tensor, nn

from synthlab.models.language_model import token_positions


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
