"""What is measured of the runs of a panel, and which of them fit."""

from dataclasses import replace

import pandas as pd
import pytest

from support.configs import small_sequences
from support.records import record
from synthlab.studies.evidence import Evidence, NoEvidence, final_loss, fits


def runs(*shares: float) -> list:
    """Runs of a sequence task, trained to 4 and tested to 8, whose exact match beyond training is the seed's share."""
    found = []
    for seed, share in enumerate(shares):
        metrics = pd.DataFrame({"length": range(1, 9), "exact": [1.0] * 4 + [share] * 4})
        found.append(replace(record(), config=small_sequences(f"seed={seed}"), metrics=metrics))
    return found


def test_exact_match_is_measured_by_seed_and_length():
    evidence = Evidence({"a": runs(0.5, 0.25)})
    assert evidence.measured("a", "exact").shape == (2, 8)
    assert evidence.beyond("a", metric="exact").mean(axis="columns").tolist() == [0.5, 0.25]
    assert evidence.horizons("a", 8).tolist() == [4, 4]
    with pytest.raises(NoEvidence, match="far enough"):
        evidence.beyond("a", 7, metric="exact")
    with pytest.raises(NoEvidence, match="no mse"):
        evidence.errors("a")


def trained(*losses: float):
    steps = range(10, 10 * len(losses) + 1, 10)
    return replace(record(0), training=pd.DataFrame({"step": steps, "loss": losses}))


def test_a_run_fits_by_its_loss_over_the_last_tenth_of_the_steps():
    run = trained(*[1.0] * 18, 0.1, 0.3)
    assert final_loss(run.training) == pytest.approx(0.2)
    assert fits(run, 0.2001)
    assert not fits(run, 0.1999)
    assert not fits(trained(1.0, float("nan")), float("inf"))
    assert not fits(record(0, diverged_at=1), float("inf"))
