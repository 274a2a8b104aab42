"""The lab's account of how a model knows the length, as claims: one head counts, by its weight on BOS.

EOS sees BOS, k symbols and itself. In a first layer without position encoding its logits do not depend on k, so softmax
gives BOS the weight w = 1 / (a + b z + c o) on z zeros and o ones, trained or not: the length reaches the model as w,
and lengths beyond training lie between the last w seen and 0. As a function of w, 1/x = b w / (1 - a w) is smooth at 0,
while 1/sqrt(x) has infinite slope there, 1/log(x + 1) rises more steeply still, and log, sqrt and the plain target
diverge, ever faster.
"""

import numpy as np

from experiments.output_alignment.inside import Measure, measure_heads
from synthlab.analysis.series import plain_label
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()
COUNTING = ("length", "sum")  # the mean needs no length
HALF = 0.5  # of the variance


def _checks(evidence: Evidence, what: str, measure: Measure, low: float = -np.inf, high: float = np.inf) -> list[Check]:
    """Return a check for each series of a task that needs the length."""
    counting = [name for name in evidence.names if evidence.config(name).task["name"] in COUNTING]
    values = {name: np.array(measure_heads(evidence.records[name], measure)) for name in counting}
    return [Check(f"{plain_label(name)}: {what}", values[name], low, high, series=(name,)) for name in counting]


def _register(id: str, encoding: str, statement: str, quantity: str, why: str):
    """Register the claim ``id`` about models with one encoding."""
    about, where = f"{plain_label(encoding)}: {statement}", "the lab's account: results, why 1/x wins"
    return CLAIMS.claim(f"{id}_{encoding}", where=where, statement=about, quantity=quantity, why=why, encoding=encoding)


for _encoding in ("nope", "alibi", "rope"):
    _register(
        "one_head",
        _encoding,
        "one attention head carries the answer: removing it loses more than half of the variance of the targets, and "
        "it alone explains more than half.",
        "fraction of the variance of the mapped targets, within training: lost when the main head is replaced by its "
        "mean; left unexplained when every other head is",
        "most is more than half of the variance, which is our choice; 1 is what the best constant answer leaves",
    )(
        lambda evidence: [
            *_checks(evidence, "lost without the main head", "lost", low=HALF),
            *_checks(evidence, "unexplained with it alone", "alone", high=HALF),
        ]
    )
for _encoding in ("alibi", "rope"):  # without position encoding this is true, trained or not
    _register(
        "line",
        _encoding,
        "on k symbols the main attention head gives the start token a weight of 1 / (a + b k), as it does without "
        "position encoding.",
        "relative error, at the longest test length, of a line fitted to 1 / weight at the training lengths",
        "a tenth is our choice; of five models before training it is 0.07 to 0.8 with ALiBi, 0.3 to 16 with RoPE",
    )(lambda evidence: _checks(evidence, "error of a line through 1/w", "line_error", high=0.1))
