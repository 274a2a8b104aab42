"""Text for a class: display names of settings, numbers without exponents."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from synthlab.analysis.series import plain_label
from synthlab.runs.conf_files import conf_dir, tasks_of

WORDS = {
    "task": {"mean": "mean", "length": "length", "sum": "sum"},
    "inputs": {"bernoulli": "fair coin", "uniform_count": "varied coin"},
    "outrep": {"identity": "no map", "power": "x^(-1/2)"},
    "model": {"transformer": "Transformer", "linear": "linear attention"},
}
# In this order; other files of each group follow.
FIRST = {
    "task": ("mean", "length", "sum"),
    "inputs": ("bernoulli", "uniform_count"),
    "encoding": ("nope", "alibi", "rope", "learned"),
    "outrep": ("identity", "rsqrt", "reciprocal", "log", "sqrt", "rlog"),
    "model": ("transformer", "linear"),
}
# Not on the page: encodings that extend a trained RoPE, which are RoPE if trained from the start; maps that change
# during training, and one that trains six models first.
OMITTED = {
    "encoding": (
        *("pi", "ntk", "yarn", "eabf", "clex", "dynamic_ntk", "longrope"),
        *("self_extend", "rerope", "leaky_rerope", "dual_chunk"),
    ),
    "outrep": ("box_cox", "monotone", "chosen"),
}
LABELS = {
    "task": "task",
    "inputs": "inputs",
    "encoding": "encoding",
    "outrep": "map",
    "model": "model",
    "train_length": "training length",
    "test_length": "test length",
    "model.width": "width",
    "model.depth": "depth",
    "protocol.steps": "steps",
    "seed": "seed",
}
# The unit of predictions.
UNITS = {"mean": "share of 1s", "length": "symbols", "sum": "1s"}
CHANGES = {
    "train_length": "trained to {}",
    "test_length": "tested to {}",
    "model.width": "width {}",
    "model.depth": "depth {}",
    "protocol.steps": "{} steps",
    "seed": "seed {}",
}


def choices(group: str) -> list[tuple[str, str]]:
    """Return the members of a config group that can be chosen, with their display names."""
    files = tasks_of("numbers") if group == "task" else [path.stem for path in (conf_dir() / group).glob("*.yaml")]
    names = sorted({*files} - set(OMITTED.get(group, ())))
    first = [name for name in FIRST[group] if name in names]
    return [(name, word(group, name)) for name in dict.fromkeys([*first, *names])]


def word(group: str, name: str) -> str:
    """Return the display name of a member of a config group."""
    return WORDS.get(group, {}).get(name) or plain_label(name).replace("sqrt(x)", "√x")


def format_digits(value: float) -> str:
    """Return three significant digits, without an exponent."""
    return np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")


def unit_of(task: str) -> str:
    """Return the unit of a task's predictions, for an axis."""
    return UNITS.get(task, "answer")


def run_name(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return a short description of a run: task, encoding, map, and settings that are not the default."""
    given = {**defaults, **settings}
    parts = [word("task", given["task"])]
    parts.append(word("model", "linear") if given["model"] == "linear" else word("encoding", given["encoding"]))
    if given["outrep"] != "identity":
        parts.append(word("outrep", given["outrep"]))
    if given["inputs"] != defaults["inputs"]:
        parts.append(word("inputs", given["inputs"]))
    parts += [text.format(given[key]) for key, text in CHANGES.items() if given[key] != defaults[key]]
    return ", ".join(parts)
