"""What is measured of the runs of a panel, whatever their task."""

from dataclasses import replace

import pandas as pd
import pytest

from support.configs import small_sequences
from support.records import record
from synthlab.studies.evidence import Evidence, NoEvidence


def runs(*shares: float) -> list:
    """Runs of a sequence task, trained to 4 and tested to 8, whose exact match beyond training is the seed's share."""
    found = []
    for seed, share in enumerate(shares):
        config = small_sequences(f"seed={seed}")
        metrics = pd.DataFrame({"length": range(1, 9), "exact": [1.0] * 4 + [share] * 4})
        found.append(replace(record(), config=config, metrics=metrics))
    return found


@pytest.mark.parametrize("measure", ["errors", "beyond", "rise", "trend"])
def test_runs_without_an_error_are_no_evidence(measure):
    with pytest.raises(NoEvidence, match="no mse"):
        getattr(Evidence({"a": runs(0.5)}), measure)("a")


def test_exact_match_is_measured_by_seed_and_length():
    evidence = Evidence({"a": runs(0.5, 0.25)})
    assert evidence.measured("a", "exact").shape == (2, 8)
    assert evidence.beyond("a", metric="exact").mean(axis="columns").tolist() == [0.5, 0.25]
    with pytest.raises(NoEvidence, match="far enough"):
        evidence.beyond("a", 7, metric="exact")
    assert evidence.horizons("a", 8).tolist() == [4, 4]
