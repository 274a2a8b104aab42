"""What a class reads: settings in its words, numbers without exponents."""

import numpy as np

from synthlab.analysis import curves as plots

MODELS = {"transformer": "Transformer", "linear": "linear attention"}


def in_class(name: str) -> str:
    """What a series of ``tables.labelled`` or a member of a config group is called: ``1/√x``."""
    return plots.in_words(name).replace("sqrt(x)", "√x")


def in_digits(value: float) -> str:
    """Three digits that count, without an exponent."""
    return np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")
