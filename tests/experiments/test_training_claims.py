"""The claims about weight decay and curricula, judged on made-up records."""

import pytest

from experiments.output_alignment.training_claims import CLAIMS
from support.records import CONFIG, made
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Grounds, judge

SEEDS = range(6)
PLAIN = {"outrep": {"name": "identity", "shift": 0.0}, "test_length": 20}
DECAY = {"protocol": CONFIG.protocol.model_dump() | {"optimizer": "adamw", "weight_decay": 0.1}}
GROWN = {"curriculum": {"start": 2, "until": 0.5}}


def judged(claim: str, decay: float, grown: float = 1.0):
    """The verdict where errors are ``decay`` times as large with weight decay, ``grown`` with a curriculum."""
    series = {
        "adam": made(1.0, SEEDS, **PLAIN),
        "decay": made(decay, SEEDS, **PLAIN, **DECAY),
        "grown": made(grown, SEEDS, **PLAIN, **GROWN),
    }
    (found,) = judge([CLAIMS[claim]], "by hand", [Grounds([claim], Evidence(series))])
    return found


@pytest.mark.parametrize(
    ("factor", "same", "lower"),
    [
        (1.9, "holds", "does not hold"),
        (0.6, "holds", "holds"),
        (0.4, "does not hold", "holds"),
        (3.0, "does not hold", "does not hold"),
    ],
)
def test_a_factor_of_2_either_way_decides(factor, same, lower):
    assert (judged("decay_length", factor).word, judged("decay_lowers_length", factor).word) == (same, lower)
    swapped = judged("curriculum_length", 1.0, factor), judged("curriculum_lowers_length", 1.0, factor)
    assert tuple(found.word for found in swapped) == (same, lower)


def test_effects_are_counted_in_doublings():
    (check,) = judged("decay_length", 8.0, 100.0).checks
    assert check.values.tolist() == pytest.approx([3.0] * 6)
    assert check.what == "NoPE, decay: doublings of the error"
    assert judged("decay_mean", 1.0).missing == ["the claim is about task=mean, the runs of adam have task=length"]
