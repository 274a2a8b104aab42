"""The claims about weight decay, curricula and rules that select a map, judged on numbers made up."""

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment import choosing_claims
from experiments.output_alignment.choosing import Trial
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


def trial(encoding: str, **errors: float) -> Trial:
    """A trial whose errors at the longest test length are those given, the same for each seed."""
    return Trial("length", encoding, 10, pd.DataFrame({name: np.full(6, each) for name, each in errors.items()}), {})


def test_one_over_x_is_not_compared_with_itself(monkeypatch):
    best = trial("nope", identity=900.0, rsqrt=90.0, reciprocal=9.0)
    beaten = trial("alibi", identity=900.0, rsqrt=90.0, reciprocal=108.0)
    monkeypatch.setattr(choosing_claims, "_find_trials", lambda evidence: [best, beaten])
    [check] = choosing_claims.CLAIMS["chosen_reciprocal"].check(Evidence({}))
    assert check.values == pytest.approx(np.full(6, np.log10(1.2)))  # of the one in which another map is better
