"""Claims on the effects of weight decay and a curriculum on the error beyond the training lengths.

Both are known confounders of comparisons between papers, which train with either, both or neither. Effects are measured
in doublings: log2 of the error beyond training, relative to the run of the same seed that has neither. 1 is twice the
error, -1 is half of it.
"""

from collections.abc import Callable
from typing import cast

import numpy as np

from synthlab.analysis.series import plain_label
from synthlab.numbers.run import NumbersRun
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence, NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()
DOUBLING = 1.0  # an error that changes by less than a factor of 2, either way, counts as unchanged
WHERE = "the lab's own question: confounders in training"
QUANTITY = (
    "log2 of error / that of the same seed trained with neither weight decay nor curriculum, geometric mean over the "
    "lengths beyond training"
)
TASKS = {
    "mean": ("Mean task", "mean", "identity"),
    "length": ("Length task, plain target", "length", "identity"),
    "mapped": ("Length task, 1/sqrt(x)", "length", "rsqrt"),
}


def _has_decay(config: NumbersRun) -> bool:
    return config.protocol.weight_decay > 0


def _has_curriculum(config: NumbersRun) -> bool:
    return config.curriculum is not None


CONFOUNDERS: dict[str, tuple[str, Callable[[NumbersRun], bool]]] = {
    "decay": ("weight decay", _has_decay),
    "curriculum": ("a curriculum from short to long sequences", _has_curriculum),
}


def _checks(evidence: Evidence, has: Callable[[NumbersRun], bool], low: float, high: float) -> list[Check]:
    """Return a check of each series that has the confounder, against the one that has none."""
    configs = {name: cast(NumbersRun, evidence.config(name)) for name in evidence.names}
    plain = [name for name, config in configs.items() if not (_has_decay(config) or _has_curriculum(config))]
    changed = [name for name, config in configs.items() if has(config)]
    if len(plain) != 1 or not changed:
        raise NoEvidence("needs runs with the confounder and one series with none")
    encoding = plain_label(configs[plain[0]].encoding["name"])
    return [
        Check(
            f"{encoding}, {plain_label(name)}: doublings of the error",
            np.log2(evidence.ratio(name, plain[0])),
            low,
            high,
            series=(name, plain[0]),
        )
        for name in changed
    ]


def _register(confounder: str, task: str) -> None:
    """Register both claims about what a confounder does to a task."""
    (what, has), (title, name, outrep) = CONFOUNDERS[confounder], TASKS[task]
    about = {"where": WHERE, "quantity": QUANTITY, "task": name, "outrep": outrep}
    CLAIMS.claim(
        f"{confounder}_{task}",
        statement=f"{title}: {what} changes the error beyond training by less than a factor of 2.",
        why="a factor of 2, either way, is our choice: the paper's effects are of a factor of 10 and more",
        **about,
    )(lambda evidence: _checks(evidence, has, -DOUBLING, DOUBLING))
    CLAIMS.claim(
        f"{confounder}_lowers_{task}",
        statement=f"{title}: {what} lowers the error beyond training.",
        why="less than 0 doublings is lower; a check that fails says that the error is higher",
        **about,
    )(lambda evidence: _checks(evidence, has, -np.inf, 0.0))


for _confounder in CONFOUNDERS:
    for _task in TASKS:
        _register(_confounder, _task)
