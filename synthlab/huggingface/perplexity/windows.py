"""The rule by which a document is cut into windows, and the measures that it gives.

A document has tokens 0 to T - 1. A window is L consecutive tokens. The model reads all but its last token and predicts
all but its first one: the token at place j of a window has a context of j tokens, from 1 to L - 1.
"""

from collections.abc import Sequence
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


class Rule(NamedTuple):
    """Windows of ``length`` tokens, and which of their tokens are scored.

    Attributes:
        length: The tokens of a window.
        first: The token at which the first window ends.
        stride: The tokens from one window to the next.
        context: The least context of a scored token.
    """

    length: int
    first: int
    stride: int
    context: int

    def cut(self, tokens: int) -> list[ScoredWindow]:
        """Return the windows of a document of ``tokens`` tokens.

        Each scores the tokens that no earlier window has and that have the least context or more. Windows that overlap
        reach the end of the document, where the last one may be shorter; others leave a remainder out.
        """
        windows: list[ScoredWindow] = []
        read = 0
        for end in range(self.first, tokens + 1, self.stride):
            start = end - self.length
            windows.append(ScoredWindow(start, end, end - max(read, start + self.context)))
            read = end
        if windows and self.stride < self.length and read < tokens:
            windows.append(ScoredWindow(windows[-1].start + self.stride, tokens, tokens - read))
        return windows


def rules(length: int, longest: int, stride: int) -> dict[str, Rule]:
    """Return the rule of each measure of perplexity at ``length`` tokens.

    - ``disjoint``: adjacent windows, whose contexts from 1 to L - 1 are equally frequent.
    - ``strided``: a window every ``stride`` tokens, and each token but the first scored once: the loop of Hugging
      Face's page on the perplexity of fixed-length models.
    - ``sliding``: each token with a full context of L - 1 tokens.
    - ``last``: a sample of ``sliding``, one token of each piece of ``longest`` tokens.

    With the last two, all lengths score the same tokens: those with a full context at the ``longest`` length.
    """
    return {
        "disjoint": Rule(length, first=length, stride=length, context=1),
        "strided": Rule(length, first=length, stride=stride, context=1),
        "sliding": Rule(length, first=longest, stride=1, context=length - 1),
        "last": Rule(length, first=longest, stride=longest, context=length - 1),
    }


def batches(windows: Sequence[ScoredWindow], tokens: int) -> list[list[ScoredWindow]]:
    """Return the windows in batches of at most ``tokens`` input tokens, or of one window.

    Windows of a batch have equal length and equal numbers of scored tokens.
    """
    kinds: dict[tuple[int, int], list[ScoredWindow]] = {}
    for window in windows:
        kinds.setdefault((window.read, window.counted), []).append(window)
    parts: list[list[ScoredWindow]] = []
    for (read, _), kind in kinds.items():
        size = count_rows(tokens, read)
        parts += [kind[i : i + size] for i in range(0, len(kind), size)]
    return parts


def count_rows(tokens: int, read: int) -> int:
    """Return how many windows with ``read`` input tokens have at most ``tokens`` together, at least one."""
    return max(1, tokens // max(1, read))
