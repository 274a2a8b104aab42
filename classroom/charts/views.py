"""Views of a model during training: its error by length, and its predictions for a few sequences."""

from typing import NamedTuple

PICTURED = 40  # number of symbols above which the cells of the encoding's picture are too small to see


class Dots(NamedTuple):
    """Predictions and targets at one length, for a few sequences.

    ``outputs`` and ``mapped`` are the model's outputs, before clipping, and the targets in representation space.
    """

    length: int
    truth: list[float]
    answers: list[float]
    mapped: list[float]
    outputs: list[float]


class View(NamedTuple):
    """A model at one training step.

    The lists have a number for each length 1..test_length: mean squared error, mean prediction and mean target, on the
    original scale.
    """

    error: list[float]
    answer: list[float]
    truth: list[float]
    dots: list[Dots]


class Reading(NamedTuple):
    """A model's predictions for one sequence, and the targets, for each prefix.

    ``attention`` (a list for each head) is that of the readout of the requested prefix, on BOS, its symbols and EOS.
    ``added`` is what the position encoding adds to the logits of each head, token by token, of the first ``PICTURED``
    symbols at most, NaN where a token does not see another. Both are empty for the theory's linear attention.
    """

    symbols: str
    length: int
    answers: list[float]
    truth: list[float]
    attention: list[list[float]]
    added: list[list[list[float]]]
