"""The measures of runs on sequence tasks."""

from typing import TYPE_CHECKING

import pandas as pd

from synthlab.metrics import Measures, Metric, reach

if TYPE_CHECKING:
    from synthlab.sequences.config import SequencesConfig

METRICS = {
    "exact": Metric("share of sequences whose answer is right in every token", "higher", "linear", ".1%"),
    "exact_low": Metric("lower end of its 95 % interval (Wilson)", "higher"),
    "exact_high": Metric("upper end of its 95 % interval", "higher"),
    "tokens": Metric("share of the answers' tokens that are right", "higher", "linear", ".1%"),
    "tokens_low": Metric("lower end of its 95 % interval", "higher"),
    "tokens_high": Metric("upper end of its 95 % interval", "higher"),
    "loss": Metric("mean loss of answer tokens, nats", "lower", "log", ".3g"),
    "chance": Metric("exact match of the best answer that looks at no prompt"),
    "shift": Metric("total variation between the mean output here and at the longest quarter of training lengths"),
    "target_shift": Metric("the same of the right answers"),
}


def horizon_of(config: "SequencesConfig", metrics: pd.DataFrame) -> int:
    """Return the greatest length up to which, from ``train_from`` on, exact match is high enough.

    The threshold is ``evaluation.horizon``.
    """
    asked = metrics[metrics["length"] >= (config.train_from or 1)]  # shorter lengths are tested too
    return reach(asked["length"], asked["exact"] >= config.evaluation.horizon)


MEASURES = Measures(
    METRICS,
    primary="exact",
    ranking=("exact", "tokens"),
    criterion="exact match stays at evaluation.horizon or above",
    horizon=horizon_of,
    chance=lambda config, metrics: metrics["chance"].tolist(),
)
