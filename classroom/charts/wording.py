"""Text for a class: display names of settings, numbers without exponents."""

import numpy as np

from synthlab.analysis.series import plain_label

MODELS = {"transformer": "Transformer", "linear": "linear attention"}


def display_name(name: str) -> str:
    """Return the display name of a series of ``tables.label_series`` or a member of a config group: ``1/√x``."""
    return plain_label(name).replace("sqrt(x)", "√x")


def format_digits(value: float) -> str:
    """Return three significant digits, without an exponent."""
    return np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")
