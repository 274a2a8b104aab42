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
WHERE = "the lab's own question: confounders in training"
QUANTITY = (
    "log2 of error / that of the same seed trained with neither weight decay nor curriculum, geometric mean over the "
    "lengths beyond training"
)


def _has_decay(config: NumbersRun) -> bool:
    return config.protocol.weight_decay > 0


def _has_curriculum(config: NumbersRun) -> bool:
    return config.curriculum is not None


def _checks(evidence: Evidence, has: Callable[[NumbersRun], bool]) -> list[Check]:
    """Return a check of each series that has the confounder, against the one that has none."""
    configs = {name: cast(NumbersRun, evidence.config(name)) for name in evidence.names}
    plain = [name for name, config in configs.items() if not (_has_decay(config) or _has_curriculum(config))]
    changed = [name for name, config in configs.items() if has(config)]
    if len(plain) != 1 or not changed:
        raise NoEvidence("needs runs with the confounder and one series with none")
    config = configs[plain[0]]
    about = [config.task["name"], plain_label(config.outrep["name"]), plain_label(config.encoding["name"])]
    return [
        Check(
            f"{', '.join([*about, plain_label(name)])}: doublings of the error",
            np.log2(evidence.ratio(name, plain[0])),
            high=0.0,
            series=(name, plain[0]),
        )
        for name in changed
    ]


for _id, _what, _has in (
    ("decay", "Weight decay", _has_decay),
    ("curriculum", "A curriculum from short to long sequences", _has_curriculum),
):
    CLAIMS.claim(
        _id,
        where=WHERE,
        statement=f"{_what} lowers the error beyond training.",
        quantity=QUANTITY,
        why="less than 0 doublings is lower; a check that fails says that the error is higher",
    )(lambda evidence, has=_has: _checks(evidence, has))
