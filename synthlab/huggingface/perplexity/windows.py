"""What perplexity at length L means: the windows of a document, and which tokens of each window count.

A document has tokens 0 to T - 1. A window is L of them in a row. The model reads all but its last token and predicts
all but its first one: the token at place j of a window has a context of j tokens, from 1 to L - 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class ScoredWindow(NamedTuple):
    """The tokens ``start`` to ``end`` - 1 of a document. The last ``counted`` of them count."""

    start: int
    end: int
    counted: int

    @property
    def read(self) -> int:
        """Return the number of tokens that the model reads."""
        return self.end - self.start - 1


class Span(NamedTuple):
    """How a document is measured: at ``length`` tokens. ``longest`` is the greatest of all lengths asked for,
    ``stride`` that of ``strided``."""

    length: int
    longest: int
    stride: int


def disjoint(tokens: int, span: Span) -> list[ScoredWindow]:
    """Cut windows side by side, of which all tokens but the first count: contexts from 1 to L - 1, each equally often.
    Tokens behind the last whole window do not count."""
    length = span.length
    return [ScoredWindow(start, start + length, length - 1) for start in range(0, tokens - length + 1, length)]


def strided(tokens: int, span: Span) -> list[ScoredWindow]:
    """Cut windows that begin every S tokens. Of the first all tokens but the first count, of the others those that no
    earlier window had: the last S, with contexts from L - S to L - 1. The last window may be shorter.

    Each token but a document's first counts once. It is the loop of Hugging Face's page on the perplexity of
    fixed-length models.
    """
    windows = [ScoredWindow(0, min(span.length, tokens), min(span.length, tokens) - 1)]
    while windows[-1].end < tokens:
        start, before = windows[-1].start + span.stride, windows[-1].end
        end = min(start + span.length, tokens)
        windows.append(ScoredWindow(start, end, end - before))
    return windows


def sliding(tokens: int, span: Span) -> list[ScoredWindow]:
    """Cut a window for each token, which alone counts: a full context of L - 1 tokens.

    The tokens that count are those with a full context at the longest length, so that all lengths have the same.
    """
    return [ScoredWindow(end - span.length, end, 1) for end in range(span.longest, tokens + 1)]


def last(tokens: int, span: Span) -> list[ScoredWindow]:
    """Count of each piece of ``longest`` tokens the last token alone, with a full context of L - 1 tokens: a sample of
    ``sliding``, which costs less. All lengths have the same tokens."""
    return [ScoredWindow(end - span.length, end, 1) for end in range(span.longest, tokens + 1, span.longest)]


DEFINITIONS: dict[str, Callable[[int, Span], list[ScoredWindow]]] = {
    "disjoint": disjoint,
    "strided": strided,
    "sliding": sliding,
    "last": last,
}


def batches(windows: Sequence[ScoredWindow], tokens: int) -> list[list[ScoredWindow]]:
    """The windows in batches of at most ``tokens`` tokens that are read, or of one window; those of a batch are alike
    in length and in how many of their tokens count."""
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
    """Return how many windows that read ``read`` tokens have at most ``tokens`` together; one at least."""
    return max(1, tokens // max(1, read))
