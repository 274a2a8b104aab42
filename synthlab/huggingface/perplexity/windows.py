"""Definitions of perplexity at length L: the windows of a document, and the scored tokens of each window.

A document has tokens 0 to T - 1. A window is L consecutive tokens. The model reads all but its last token and predicts
all but its first one: the token at place j of a window has a context of j tokens, from 1 to L - 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class ScoredWindow(NamedTuple):
    """The tokens ``start`` to ``end`` - 1 of a document. The last ``counted`` of them are scored."""

    start: int
    end: int
    counted: int

    @property
    def read(self) -> int:
        """The number of tokens that the model reads."""
        return self.end - self.start - 1


class Span(NamedTuple):
    """How a document is measured: at ``length`` tokens.

    ``longest`` is the greatest of all requested lengths, ``stride`` that of ``strided``.
    """

    length: int
    longest: int
    stride: int


def disjoint(tokens: int, span: Span) -> list[ScoredWindow]:
    """Return adjacent windows in which all tokens but the first are scored.

    Contexts from 1 to L - 1 are equally frequent. Tokens after the last whole window are not scored.
    """
    length = span.length
    return [ScoredWindow(start, start + length, length - 1) for start in range(0, tokens - length + 1, length)]


def strided(tokens: int, span: Span) -> list[ScoredWindow]:
    """Return windows that begin every S tokens, and score each token once.

    In the first window all tokens but the first are scored, in the others those that no earlier window had: the last S,
    with contexts from L - S to L - 1. The last window may be shorter.

    Only a document's first token is not scored. This is the loop of Hugging Face's page on the perplexity of
    fixed-length models.
    """
    windows = [ScoredWindow(0, min(span.length, tokens), min(span.length, tokens) - 1)]
    while windows[-1].end < tokens:
        start, before = windows[-1].start + span.stride, windows[-1].end
        end = min(start + span.length, tokens)
        windows.append(ScoredWindow(start, end, end - before))
    return windows


def sliding(tokens: int, span: Span) -> list[ScoredWindow]:
    """Return a window for each scored token, with a full context of L - 1 tokens.

    The scored tokens are those with a full context at the longest length, so that all lengths score the same tokens.
    """
    return [ScoredWindow(end - span.length, end, 1) for end in range(span.longest, tokens + 1)]


def last(tokens: int, span: Span) -> list[ScoredWindow]:
    """Return windows that score the last token of each piece of ``longest`` tokens, with a full context.

    The context has L - 1 tokens. This is a sample of ``sliding``, which costs less. All lengths score the same tokens.
    """
    return [ScoredWindow(end - span.length, end, 1) for end in range(span.longest, tokens + 1, span.longest)]


DEFINITIONS: dict[str, Callable[[int, Span], list[ScoredWindow]]] = {
    "disjoint": disjoint,
    "strided": strided,
    "sliding": sliding,
    "last": last,
}


def batches(windows: Sequence[ScoredWindow], tokens: int) -> list[list[ScoredWindow]]:
    """Return the windows in batches of at most ``tokens`` input tokens, or of one window.

    Windows of a batch have equal length and equal numbers of scored tokens.
    """
    kinds: dict[tuple[int, int], list[ScoredWindow]] = {}
    for window in windows:
        kinds.setdefault((window.read, window.counted), []).append(window)
    return [
        kind[i : i + size]
        for (read, _), kind in kinds.items()
        for size in [count_rows(tokens, read)]
        for i in range(0, len(kind), size)
    ]


def count_rows(tokens: int, read: int) -> int:
    """Return how many windows with ``read`` input tokens have at most ``tokens`` together, at least one."""
    return max(1, tokens // max(1, read))
