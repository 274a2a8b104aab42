"""Causal models with the interface of Transformers, and documents of numbers, without Transformers."""

from types import SimpleNamespace

import torch

from support.token_models import Everything, texts
from synthlab.huggingface.perplexity.scoring import Document


class Causal(torch.nn.Module):
    """A model of tokens as Transformers calls one; it notes how many tokens each call reads."""

    def __init__(self, inner: torch.nn.Module):
        super().__init__()
        self.inner, self.read = inner, []

    def forward(self, input_ids, use_cache=None, return_dict=None):
        self.read.append(input_ids.numel())
        return SimpleNamespace(logits=self.inner(input_ids))


class Keeping(Causal):
    """One that computes the last logits alone, as Llama does."""

    def forward(self, input_ids, use_cache=None, return_dict=None, logits_to_keep=0):
        return SimpleNamespace(logits=super().forward(input_ids).logits[:, -logits_to_keep:])


def everything() -> Causal:
    return Causal(Everything())


def documents(*sizes: int) -> list[Document]:
    """Documents of so many tokens; a token of each stands for 2 bytes."""
    return [Document(f"{number}", texts(number + 1, size)[number], 2.0) for number, size in enumerate(sizes)]
