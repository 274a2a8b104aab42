"""Positions of padded texts: padding before a text, or after it, changes none of them."""

from jaxtyping import Bool, Int
from torch import Tensor


def token_positions(is_token: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Count each text's own tokens from 0.

    Args:
        is_token: False for padding.

    Returns:
        The position of each token. Padding has that of the token before it, or 0.
    """
    return (is_token.cumsum(-1) - 1).clamp(min=0)
