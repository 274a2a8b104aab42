"""What can be seen of a model while it learns: its error by length, and what it answers to a few sequences."""

from typing import NamedTuple

PICTURED = 40  # symbols, beyond which the cells of the encoding's picture are too small to be seen


class Dots(NamedTuple):
    """Answers at one length, one for each of a few sequences, beside the truth. ``outputs`` and ``mapped`` are answers
    and truth in representation space; outputs are what the model says, not clipped."""

    length: int
    truth: list[float]
    answers: list[float]
    mapped: list[float]
    outputs: list[float]


class View(NamedTuple):
    """A model at one moment. The lists hold a number for each length 1..test_length: mean squared error and the mean
    answer, in natural units, beside the mean truth."""

    error: list[float]
    answer: list[float]
    truth: list[float]
    dots: list[Dots]


class Reading(NamedTuple):
    """One sequence, read by a model: answer and truth for each of its prefixes.

    ``attention`` (a list for each head) is that of the readout of the prefix asked for, on BOS, its symbols and EOS.
    ``added`` is what the position encoding adds to the logits of each head, token by token, of the first
    ``PICTURED`` symbols at most, nan where a token does not see another. Both are empty for the theory's linear
    attention.
    """

    symbols: str
    length: int
    answers: list[float]
    truth: list[float]
    attention: list[list[float]]
    added: list[list[list[float]]]
