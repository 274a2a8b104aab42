"""The lab's account of how a model knows the length, as claims: one head counts, by its weight on BOS.

EOS sees BOS, k symbols and itself. In a first layer without position encoding its logits do not depend on k, so softmax
gives BOS the weight w = 1 / (a + b z + c o) on z zeros and o ones, trained or not: the length reaches the model as w,
and lengths beyond training lie between the last w seen and 0. As a function of w, 1/x = b w / (1 - a w) is smooth at 0,
while 1/sqrt(x) has infinite slope there, 1/log(x + 1) rises more steeply still, and log, sqrt and the plain target
diverge, ever faster.
"""

import numpy as np

from experiments.output_alignment.inside import measure_heads
from synthlab.analysis.series import plain_label
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()
COUNTING = ("length", "sum")  # the mean needs no length
HALF = 0.5  # of the variance


def _check_heads(evidence: Evidence) -> list[Check]:
    """Return a check for each series of a task that needs the length."""
    configs = {name: evidence.config(name) for name in evidence.names}
    return [
        Check(
            f"{plain_label(config.encoding['name'])}, {plain_label(name)}: lost without the main head",
            np.array(measure_heads(evidence.records[name], "lost")),
            low=HALF,
            series=(name,),
        )
        for name, config in configs.items()
        if config.task["name"] in COUNTING
    ]


CLAIMS.claim(
    "head",
    where="the lab's account: results, why 1/x is easy",
    statement=(
        "One attention head carries the length and the sum: without it more than half (ours) of the variance of the "
        "targets is lost."
    ),
    quantity=(
        "fraction of the variance of the mapped targets, within training, that is lost when the main head is replaced "
        "by its mean"
    ),
    why="more than half of the variance is ours; 1 is what the best constant answer leaves",
)(_check_heads)
