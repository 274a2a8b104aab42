"""The measurements of an evaluation: one for each document, length and measure, with its cost and computation."""

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

from synthlab.huggingface.perplexity.documents import Document
from synthlab.huggingface.perplexity.scoring import (
    DISTANCES,
    CausalScorer,
    Part,
    Tick,
    loss_part,
    misalignment_cost,
    misalignment_part,
)
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.huggingface.perplexity.windows import DEFINITIONS, Span, batches

VERSION = 1  # raise this when a part of the same document, model and settings gets other numbers


class Measurement(NamedTuple):
    """A measure of a document at a length."""

    document: Document
    measure: str
    span: Span
    seed: int

    def identity(self, model: str, bos: str) -> str:
        """Return a checksum of everything that decides its numbers; ``model`` is the model's checksum."""
        span: list[object] = [self.span.length]
        if self.measure == "strided":
            span.append(self.span.stride)
        if self.measure in ("sliding", "last"):
            span.append(self.span.longest)
        if self.measure == "misalignment":
            span.append(self.seed)
        told = json.dumps([VERSION, model, bos, self.document.digest, self.measure, span])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def cost(self, batch: int) -> tuple[int, int]:
        """Return the number of tokens that it computes, and its calls of the model; for misalignment, upper bounds."""
        size = len(self.document.tokens)
        if self.measure == "misalignment":
            return misalignment_cost(size, self.span.length), 2 * (size // self.span.length)
        windows = DEFINITIONS[self.measure](size, self.span)
        return sum(window.read for window in windows), len(batches(windows, batch))

    def fits(self, part: Part) -> bool:
        """Return True if ``part`` has what a result of this measurement has."""
        names = set(DISTANCES if self.measure == "misalignment" else ["loss"])
        contexts = self.span.length - 1 if self.measure == "disjoint" else 0
        return part.count > 0 and set(part.sums) == names and len(part.contexts) == contexts

    def compute(self, scorer: CausalScorer, tick: Tick) -> Part:
        """Compute the result; ``tick`` is called after each batch."""
        if self.measure == "misalignment":
            return misalignment_part(scorer, self.document, self.span, self.seed, tick)
        windows = DEFINITIONS[self.measure](len(self.document.tokens), self.span)
        return loss_part(scorer, self.document, windows, self.measure == "disjoint", tick)


def list_measurements(settings: Settings, documents: Iterable[Document]) -> list[Measurement]:
    """Return all measurements, the longest windows first, so that exceeding the memory ends the command early."""
    lengths = sorted(set(settings.lengths), reverse=True)
    measures = dict.fromkeys(settings.measures)
    return [
        Measurement(document, measure, settings.span(length), settings.seed)
        for length in lengths
        for document in documents
        for measure in measures
    ]
