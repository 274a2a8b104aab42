"""Losses of the tokens of a document, and its misalignment: the computations for one document at one length."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.alignment.misalignment import Misalignment, misalignment
from synthlab.alignment.windows import min_context
from synthlab.config.registry import STRICT
from synthlab.errors import InputError, format_error, is_of_memory
from synthlab.huggingface.perplexity.documents import Document
from synthlab.huggingface.perplexity.windows import ScoredWindow, Span, batches, count_rows
from synthlab.rng import seed_generator

Tick = Callable[[int], None]  # called with the number of tokens that were just computed


class Part(BaseModel):
    """The result of a document at one length by one measure.

    ``count`` is the number of scored tokens, for misalignment that of texts; ``sums`` are sums over them, in nats;
    ``contexts``, if known, has the sums of losses after 1, 2, ... tokens, each over equally many windows.
    """

    model_config = STRICT
    count: int
    sums: dict[str, float]
    contexts: list[float] = []


class CausalScorer:
    """A scorer with a causal model of Transformers, in evaluation mode.

    Args:
        model: The model, on its device.
        batch: The largest number of tokens in one call; a single window may have more.
        begin: The token that replaces the first of each window; None keeps it.
        name: The name of the model in errors.
    """

    def __init__(self, model: nn.Module, batch: int, begin: int | None = None, name: str = "model"):
        self.model, self.batch, self.begin, self.name = model, batch, begin, name
        self.device = next(model.parameters()).device
        # Logits of tokens that are not scored would take most of the memory.
        self.keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    @torch.no_grad()
    def logits(self, tokens: Int[Tensor, "B T"], kept: int = 1) -> Float[Tensor, "B kept V"]:
        """Return the logits after the last ``kept`` tokens of each row.

        Raises InputError if the model cannot read them.
        """
        tokens = tokens.to(self.device)
        if self.begin is not None:
            tokens = tokens.clone()
            tokens[:, 0] = self.begin
        fewer: dict[str, Any] = {"logits_to_keep": kept} if self.keeps else {}
        try:
            output = self.model(input_ids=tokens, use_cache=False, return_dict=True, **fewer)
        # From a table of positions, or a mask, that is too short.
        except (IndexError, ValueError, RuntimeError) as error:
            if isinstance(error, InputError) or is_of_memory(error):
                raise
            raise InputError(
                f"lengths: {self.name} cannot read {tokens.shape[1]} tokens ({format_error(error)}); give shorter ones"
            ) from None
        return output.logits[:, -kept:]

    def losses(self, tokens: Int[Tensor, " T"], windows: Sequence[ScoredWindow]) -> Float[Tensor, "B counted"]:
        """Return the loss of each scored token, in nats, of windows of one kind; 64-bit, on the CPU."""
        texts = torch.stack([tokens[window.start : window.end] for window in windows])
        kept = windows[0].counted
        logits, targets = self.logits(texts[:, :-1], kept), texts[:, -kept:].to(self.device)
        pairs = zip(logits, targets, strict=True)
        # Row by row, since logits in 32 bits are large.
        found = [F.cross_entropy(_to_float(row), target, reduction="none") for row, target in pairs]
        return torch.stack(found).double().cpu()


def _to_float(logits: Tensor) -> Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()


def loss_part(
    scorer: CausalScorer, document: Document, windows: Sequence[ScoredWindow], by_context: bool, tick: Tick
) -> Part:
    """Sum the losses of the scored tokens of ``windows``.

    ``by_context`` is for windows whose tokens are all scored. Raises InputError for a loss that is not finite.
    """
    total, count, contexts = 0.0, 0, []
    for batch in batches(windows, scorer.batch):
        losses = scorer.losses(document.tokens, batch)
        _check_finite(bool(losses.isfinite().all()), scorer, document, batch[0].end - batch[0].start)
        total, count = total + losses.sum().item(), count + losses.numel()
        if by_context:
            contexts.append(losses.sum(0))
        tick(sum(window.read for window in batch))
    return Part(count=count, sums={"loss": total}, contexts=torch.stack(contexts).sum(0).tolist() if by_context else [])


def misalignment_part(scorer: CausalScorer, document: Document, span: Span, seed: int, tick: Tick) -> Part:
    """Return the long-short misalignment of the document's pieces of ``span.length`` tokens.

    Two contexts are drawn for each piece, from half the length to all of it. Raises InputError for a result that is not
    finite.
    """
    length = span.length
    pieces = document.tokens[: len(document.tokens) // length * length].view(-1, length)
    draws = seed_generator(np.random.SeedSequence((seed, length, int(document.digest[:16], 16))))
    found = misalignment(
        scorer.logits, pieces, min_context(length, 0.5), length, draws, batch=count_rows(scorer.batch, length)
    )
    _check_finite(all(math.isfinite(estimate.value) for estimate in found), scorer, document, length)
    tick(misalignment_cost(len(document.tokens), length))
    return Part(count=len(pieces), sums={name: each.value * len(pieces) for name, each in found._asdict().items()})


def misalignment_cost(tokens: int, length: int) -> int:
    """Return an upper bound on the number of tokens that it computes."""
    return 2 * (tokens // length) * length


DISTANCES = Misalignment._fields


def _check_finite(is_finite: bool, scorer: CausalScorer, document: Document, length: int) -> None:
    if not is_finite:
        raise InputError(
            f"{scorer.name}: has logits that are not finite in {document.name} at length {length}; its weights may "
            "be damaged, or dtype too small: try dtype=float32"
        )
