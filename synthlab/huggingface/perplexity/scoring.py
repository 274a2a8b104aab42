"""Losses of the tokens of a document, and its misalignment: what is computed for one document at one length."""

import hashlib
import inspect
import json
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.errors import InputError, format_error, is_memory_error
from synthlab.huggingface.perplexity.windows import Rule, batches, count_rows
from synthlab.longshort.misalignment import Misalignment, misalignment
from synthlab.longshort.windows import min_context
from synthlab.rng import seed_generator
from synthlab.runs.registry import STRICT

VERSION = 2  # raise this when a part of the same document, model and settings gets other numbers
CHUNK = 1024  # number of tokens whose probabilities are computed at once, in 32 bits for each of the vocabulary
DISTANCES = Misalignment._fields


class Document(NamedTuple):
    """A document as tokens [T], on the CPU, and the average number of UTF-8 bytes of a token."""

    name: str
    tokens: Int[Tensor, " T"]
    bytes_per_token: float

    @property
    def digest(self) -> str:
        """A checksum of the tokens and of their bytes."""
        return hashlib.sha256(f"{self.bytes_per_token!r} ".encode() + self.tokens.numpy().tobytes()).hexdigest()


class Part(BaseModel):
    """The result of a document at one length by one measure.

    ``count`` is the number of scored tokens, for misalignment that of texts; ``sums`` are sums over them, in nats;
    ``contexts``, of disjoint windows, has the sums of losses after 1, 2, ... tokens, each over equally many windows.
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

    def __init__(self, model: nn.Module, batch: int = 1, begin: int | None = None, name: str = "model"):
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
            if isinstance(error, InputError) or is_memory_error(error):
                raise
            raise InputError(
                f"lengths: {self.name} cannot read {tokens.shape[1]} tokens ({format_error(error)}); give shorter ones"
            ) from None
        return output.logits[:, -kept:]

    def losses(self, texts: Int[Tensor, "B T"], counted: int) -> Float[Tensor, "B counted"]:
        """Return the losses of the last ``counted`` tokens of each text, in nats; 64-bit, on the CPU."""
        logits = self.logits(texts[:, :-1], counted).flatten(0, 1)
        targets = texts[:, -counted:].to(self.device).flatten()
        pairs = zip(logits.split(CHUNK), targets.split(CHUNK), strict=True)
        found = [F.cross_entropy(_to_float(rows), target, reduction="none") for rows, target in pairs]
        return torch.cat(found).view(-1, counted).double().cpu()


def _to_float(logits: Tensor) -> Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()


class Measurement(NamedTuple):
    """A measure of a document at a length: losses by a rule, or misalignment, for which ``seed`` draws contexts."""

    document: Document
    measure: str
    rule: Rule
    seed: int

    def identity(self, *model: str) -> str:
        """Return a checksum of everything that decides its numbers; ``model`` identifies the model."""
        decisive = [self.rule.length, self.seed] if self.measure == "misalignment" else [*self.rule]
        given = json.dumps([VERSION, *model, self.document.digest, self.measure, decisive])
        return hashlib.sha256(given.encode()).hexdigest()[:32]

    def cost(self) -> int:
        """Return the number of tokens that the model reads; for misalignment, an upper bound."""
        size, length = len(self.document.tokens), self.rule.length
        if self.measure == "misalignment":
            return 2 * (size // length) * length
        return sum(window.read for window in self.rule.cut(size))

    def compute(self, scorer: CausalScorer) -> Part:
        """Compute the result. Raises InputError for one that is not finite."""
        measure = self._sum_misalignment if self.measure == "misalignment" else self._sum_losses
        count, sums, contexts = measure(scorer)
        if not all(map(math.isfinite, sums.values())):
            raise InputError(
                f"{scorer.name}: has logits that are not finite in {self.document.name} at length {self.rule.length}; "
                "its weights may be damaged, or dtype too small: try dtype=float32"
            )
        return Part(count=count, sums=sums, contexts=contexts)

    def _sum_losses(self, scorer: CausalScorer) -> tuple[int, dict[str, float], list[float]]:
        total, count, contexts = 0.0, 0, torch.zeros(self.rule.length - 1, dtype=torch.float64)
        for batch in batches(self.rule.cut(len(self.document.tokens)), scorer.batch):
            texts = torch.stack([self.document.tokens[window.start : window.end] for window in batch])
            losses = scorer.losses(texts, batch[0].counted)
            total, count = total + losses.sum().item(), count + losses.numel()
            if self.measure == "disjoint":
                contexts += losses.sum(0)
        return count, {"loss": total}, contexts.tolist() if self.measure == "disjoint" else []

    def _sum_misalignment(self, scorer: CausalScorer) -> tuple[int, dict[str, float], list[float]]:
        """Compare two contexts, drawn from half the length to all of it, in each piece of ``length`` tokens."""
        length, tokens = self.rule.length, self.document.tokens
        pieces = tokens[: len(tokens) // length * length].view(-1, length)
        draws = seed_generator(np.random.SeedSequence((self.seed, length, int(self.document.digest[:16], 16))))
        rows = count_rows(scorer.batch, length)
        found = misalignment(scorer.logits, pieces, min_context(length, 0.5), length, draws, batch=rows)
        return len(pieces), {name: each.value * len(pieces) for name, each in found._asdict().items()}, []
