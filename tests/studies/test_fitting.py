from dataclasses import replace

import pandas as pd
import pytest

from support.records import record
from synthlab.studies.evidence import final_loss, fits


def trained(*losses: float):
    steps = range(10, 10 * len(losses) + 1, 10)
    return replace(record(0), training=pd.DataFrame({"step": steps, "loss": losses}))


def test_the_last_tenth_of_the_steps_counts():
    run = trained(*[1.0] * 18, 0.1, 0.3)
    assert final_loss(run.training) == pytest.approx(0.2)
    assert fits(run, 0.2001)
    assert not fits(run, 0.1999)


def test_what_has_no_number_does_not_fit():
    assert not fits(trained(1.0, float("nan")), float("inf"))
    assert not fits(record(0, diverged_at=1), float("inf"))
