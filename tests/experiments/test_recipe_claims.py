"""The claims about weight decay and curricula, judged on numbers made up."""

import pytest

from experiments.output_alignment.training_claims import CLAIMS
from support.claims import judge_on
from support.records import CONFIG, made
from synthlab.studies.evidence import Evidence

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
    return judge_on(CLAIMS, claim, Evidence(series))


@pytest.mark.parametrize(("factor", "word"), [(0.6, "holds"), (1.9, "fails")])
def test_a_change_either_way_decides(factor, word):
    assert judged("decay", factor).word == judged("curriculum", 1.0, factor).word == word


def test_effects_are_counted_in_doublings():
    (check,) = judged("decay", 8.0, 100.0).checks
    assert check.values.tolist() == pytest.approx([3.0] * 6)
