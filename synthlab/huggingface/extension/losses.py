"""The loss of a causal model within its original context, and beyond."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

CHUNK = 1024  # number of tokens whose probabilities are computed at once: 32,000 numbers of 32 bits for each


class Losses(NamedTuple):
    """Cross-entropy of next tokens, in nats.

    ``within`` is the loss in texts of N tokens, ``beyond`` that of the tokens after the first N in texts of factor N
    tokens; None for factor 1.
    """

    within: float
    beyond: float | None

    def describe(self, trained: int) -> str:
        """Return the losses in words; ``trained`` is N."""
        beyond = "" if self.beyond is None else f", {self.beyond:.4f} beyond"
        return f"loss {self.within:.4f} within {trained} tokens{beyond}"


@torch.no_grad()
def measure_losses(model: Any, texts: Int[Tensor, "M L"], trained: int, dtype: torch.dtype) -> Losses:
    """Return the losses of a model on texts of L = factor N tokens, without changing its mode.

    Args:
        model: A causal model of Transformers.
        texts: The texts. Their first N tokens serve as texts of N tokens.
        trained: N.
        dtype: The type of computation, by autocast.
    """
    was_training = model.training
    model.eval()
    within = torch.cat([_token_losses(model, text[:trained], dtype) for text in texts]).mean().item()
    beyond = None
    if texts.shape[1] > trained:
        # Loss t is that of token t + 1: loss N - 1 is the first whose token follows N others.
        beyond = torch.cat([_token_losses(model, text, dtype)[trained - 1 :] for text in texts]).mean().item()
    model.train(was_training)
    return Losses(within, beyond)


def _token_losses(model: Any, text: Int[Tensor, " T"], dtype: torch.dtype) -> Float[Tensor, " T-1"]:
    """Return the loss of each token but the first, on the CPU."""
    device = model.device
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        logits = model(input_ids=text[None].to(device), use_cache=False).logits[0, :-1]
    parts = zip(logits.split(CHUNK), text[1:].to(device).split(CHUNK), strict=True)
    return torch.cat([F.cross_entropy(rows.float(), targets, reduction="none").cpu() for rows, targets in parts])
