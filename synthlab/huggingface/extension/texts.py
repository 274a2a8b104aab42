"""A user's texts as tokens, and the loss of a model on them within its original context and beyond."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.huggingface.perplexity.scoring import CausalScorer
from synthlab.huggingface.texts import read_texts


def read_tokens(path: str, tokenizer: Any) -> Int[Tensor, " N"]:
    """Return the tokens of all documents of a file or a folder.

    Each is followed by the end of text, if the tokenizer has one. Raises InputError for a path that cannot be read.
    """
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    tokens: list[int] = []
    for _, text in read_texts(path):
        tokens += tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] + end
    return torch.tensor(tokens, dtype=torch.long)


def cut_rows(tokens: Int[Tensor, " N"], length: int, what: str) -> Int[Tensor, "M length"]:
    """Return consecutive pieces of ``length`` tokens. Raises InputError for too few tokens."""
    if len(tokens) < length:
        raise InputError(f"texts: have {len(tokens)} tokens for {what}; must have at least {length}")
    return tokens[: len(tokens) // length * length].view(-1, length)


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


def measure_losses(model: Any, texts: Int[Tensor, "M L"], trained: int, dtype: torch.dtype) -> Losses:
    """Return the losses of a causal model on texts of L = factor N tokens, without changing its mode.

    ``trained`` is N: the first N tokens serve as texts of N tokens. ``dtype`` is the type of computation, by autocast.
    """
    was_training, beyond = model.training, texts.shape[1] - trained
    scorer = CausalScorer(model.eval())
    with torch.autocast(model.device.type, dtype, enabled=dtype != torch.float32):
        short = [scorer.losses(text[None, :trained], trained - 1).mean() for text in texts]
        long = [scorer.losses(text[None], beyond).mean() for text in texts] if beyond else []
    model.train(was_training)
    return Losses(float(torch.stack(short).mean()), float(torch.stack(long).mean()) if long else None)
