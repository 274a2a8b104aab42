"""The overlap of two windows of one text (paper, section 4.2).

Of a text of ``length + extra`` tokens, the first window has the first ``length``, the second the last ``length``.
"""

import math

from synthlab.errors import InputError


def both_contexts(length: int, extra: int, context: int) -> tuple[slice, slice]:
    """Return the places in the first and in the second window that hold the same tokens of the text.

    Both windows have at least ``context`` tokens of context there: ``length - extra - context + 1`` places. Raises
    InputError if there are none.
    """
    if not (extra >= 1 and context >= 1 and length - extra >= context):
        raise InputError(
            f"extra={extra}: must be from 1 to {length - context}, or two windows of {length} tokens have no place in "
            f"common after {context}"
        )
    return slice(extra + context - 1, length), slice(context - 1, length - extra)


def extra_range(length: int, low: float | int, high: float | int) -> tuple[int, int]:
    """Return the smallest and the largest offset of two windows of ``length`` tokens, at least 1.

    ``low`` and ``high`` are fractions of ``length``.
    """
    return max(1, math.ceil(low * length)), max(1, math.floor(high * length))


def min_context(length: int, fraction: float | int) -> int:
    """Return the smallest context at which windows are compared: ``fraction`` times ``length``, at least 1 token."""
    return max(1, math.ceil(fraction * length))
