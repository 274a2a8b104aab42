"""Claims about rules that select a map of the target, on trials made by hand."""

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment import choosing_claims
from experiments.output_alignment.choosing import Trial
from experiments.output_alignment.choosing_claims import CLAIMS
from synthlab.studies.evidence import Evidence

SEEDS = 6


def trial(encoding: str, **errors: float) -> Trial:
    """A trial whose errors at the longest test length are those given, the same for each seed."""
    return Trial(
        "length", encoding, 10, pd.DataFrame({name: np.full(SEEDS, each) for name, each in errors.items()}), {}
    )


def test_one_over_x_is_not_compared_with_itself(monkeypatch):
    best = trial("nope", identity=900.0, rsqrt=90.0, reciprocal=9.0)
    beaten = trial("alibi", identity=900.0, rsqrt=90.0, reciprocal=108.0)
    monkeypatch.setattr(choosing_claims, "_find_trials", lambda evidence: [best, beaten])
    [check] = CLAIMS["chosen_reciprocal"].check(Evidence({}))
    assert check.what == "length, ALiBi, trained to 10: regret of always reciprocal"
    assert check.values == pytest.approx(np.full(SEEDS, np.log10(1.2)))
    monkeypatch.setattr(choosing_claims, "_find_trials", lambda evidence: [best])
    assert CLAIMS["chosen_reciprocal"].check(Evidence({})) == []
