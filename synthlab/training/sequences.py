"""Sequences as users give them to a trained model: a list of texts, or a tensor of symbols."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.config.arguments import in_short, listed
from synthlab.errors import InputError

MOST, ALLOWED = 10**6, "a list of texts or an integer tensor [N, L]"  # texts of one call; what errors say


def listed_texts(sequences: Any) -> list[str]:
    """The sequences, given as texts. Raises InputError for what is no iterable of texts, or one text alone."""
    texts: list[Any] = [None] if isinstance(sequences, str) else listed("sequences", sequences, MOST, ALLOWED)
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"sequences={in_short(sequences)}: must be {ALLOWED}")
    return texts


def rows_of_symbols(x: Tensor) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
    """The sequences, given as a tensor, and their lengths. Raises InputError for what holds no integers [N, L]."""
    if x.dim() != 2 or not x.numel() or x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise InputError(f"sequences: {x.dtype} of shape {list(x.shape)}; must be integers [N, L], one or more")
    return x.long(), torch.full((len(x),), x.shape[1])
