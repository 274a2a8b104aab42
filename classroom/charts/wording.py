"""Text for a class: display names of settings, numbers without exponents."""

import numpy as np

from synthlab.analysis import curves as plots

MODELS = {"transformer": "Transformer", "linear": "linear attention"}


def in_class(name: str) -> str:
    """The display name of a series of ``tables.labelled`` or a member of a config group: ``1/√x``."""
    return plots.in_words(name).replace("sqrt(x)", "√x")


def in_digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    return np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")
