"""Two windows of one text, and where they overlap: the bookkeeping of the paper's section 4.2.

A text of ``length + extra`` tokens has a first window, its first ``length`` tokens, and a second, its last ``length``.
The token at place t (from 0) of the text stands at t in the first window, which has then seen t + 1 tokens, and at
t - extra in the second.
"""

import math

from synthlab.errors import InputError


def both_contexts(length: int, extra: int, context: int) -> tuple[slice, slice]:
    """The places in the first and in the second window that hold the same tokens of the text, after at least
    ``context`` tokens in either window: ``length - extra - context + 1`` of them. Raises InputError for none."""
    if not (extra >= 1 and context >= 1 and length - extra >= context):
        raise InputError(
            f"extra={extra}: must be from 1 to {length - context}, or two windows of {length} tokens have no place in "
            f"common after {context}"
        )
    return slice(extra + context - 1, length), slice(context - 1, length - extra)


def extra_range(length: int, low: float | int, high: float | int) -> tuple[int, int]:
    """The least and the greatest offset of two windows of ``length`` tokens, given as shares of it: 1 at least."""
    return max(1, math.ceil(low * length)), max(1, math.floor(high * length))


def least_context(length: int, share: float | int) -> int:
    """The tokens that both windows must have seen where they are compared, given as a share of ``length``: 1 at
    least."""
    return max(1, math.ceil(share * length))
