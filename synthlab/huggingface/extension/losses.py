"""The loss of a causal model within the context that it was trained on, and beyond."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

CHUNK = 1024  # tokens whose probabilities are computed at once: a row of 32,000 in 32 bits for each


class Losses(NamedTuple):
    """Cross-entropy of next tokens, in nats: ``within``, in texts of N tokens; ``beyond``, of the tokens that follow
    the first N of texts of factor N tokens, None for factor 1."""

    within: float
    beyond: float | None

    def __str__(self) -> str:
        return f"{self.within:.4f} within" + ("" if self.beyond is None else f", {self.beyond:.4f} beyond")


@torch.no_grad()
def measure_losses(model: Any, texts: Int[Tensor, "M L"], trained: int, dtype: torch.dtype) -> Losses:
    """Return the losses of a model, left in the mode it was in, on texts of L = factor N tokens.

    Args:
        model: A causal model of Transformers.
        texts: The texts. Their first N tokens are texts by themselves.
        trained: N.
        dtype: Of the computing, by autocast.
    """
    was_training = model.training
    model.eval()
    within = torch.cat([_token_losses(model, text[:trained], dtype) for text in texts]).mean().item()
    beyond = None
    if texts.shape[1] > trained:
        # Loss t is that of token t + 1: the first of a token that follows N others is loss N - 1.
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
