"""Runs that differ only in what follows their first training share it, with the same results."""

import pandas as pd
import pytest

from support.configs import small
from synthlab.language import training
from synthlab.training.execution import execute, execute_together

FINETUNED = ("encoding=rope", "extension=yarn", "alignment.windows=2", "finetune.steps=2")


@pytest.fixture(autouse=True)
def _none_kept(monkeypatch):
    monkeypatch.setattr(training, "_cache", {})


def tables(record):
    return [record.metrics, record.training, record.outputs]


def test_a_shared_first_training_changes_nothing():
    first, second = small(*FINETUNED), small(*FINETUNED, "alignment.alpha=0.5")
    alone = tables(execute(second))
    training._cache.clear()
    execute(first)
    assert len(training._cache) == 1
    shared = tables(execute(second))
    assert len(training._cache) == 1
    for expected, found in zip(alone, shared, strict=True):
        pd.testing.assert_frame_equal(expected, found, check_exact=True)


def test_an_ensemble_trains_each_seed_once():
    configs = [
        small(*FINETUNED, f"alignment.alpha={alpha}").with_seeds({"seed": seed}) for alpha in (0, 1) for seed in (0, 1)
    ]
    watched = []
    records = execute_together(configs, lambda step, losses: watched.append((step, losses)))
    assert len(training._cache) == 2
    assert [step for step, _ in watched] == records[0].training["step"].tolist()
    for index, record in enumerate(records):
        assert [losses[index] for _, losses in watched] == record.training["loss"].tolist()
        for expected, found in zip(tables(execute(configs[index])), tables(record), strict=True):
            pd.testing.assert_frame_equal(expected, found, check_exact=True)


@pytest.mark.parametrize(
    ("override", "shared"),
    [
        ("extension=pi", True),
        ("alignment.alpha=0.5", True),
        ("test_seed=1", True),
        ("protocol.lr=0.1", False),
        ("seed=5", False),
    ],
)
def test_which_settings_decide_the_first_training(override, shared):
    assert (small(*FINETUNED).pretraining == small(*FINETUNED, override).pretraining) == shared
