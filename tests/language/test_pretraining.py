"""Runs that differ in what follows their first training share it, and are none the worse for it."""

import pandas as pd
import pytest

from support.small import small
from synthlab.language import pretraining
from synthlab.training.execution import execute, execute_together

FINETUNED = ("encoding=rope", "extension=yarn", "alignment.windows=2", "finetune.steps=2")


@pytest.fixture(autouse=True)
def _none_kept(monkeypatch):
    monkeypatch.setattr(pretraining, "_cache", pretraining.OrderedDict())


def tables(record):
    return [record.metrics, record.training, record.outputs]


def test_a_shared_first_training_changes_nothing():
    first, second = small(*FINETUNED), small(*FINETUNED, "alignment.alpha=0.5")
    alone = tables(execute(second))
    pretraining._cache.clear()
    execute(first)
    assert len(pretraining._cache) == 1
    shared = tables(execute(second))
    assert len(pretraining._cache) == 1
    for expected, found in zip(alone, shared, strict=True):
        pd.testing.assert_frame_equal(expected, found, check_exact=True)


def test_in_a_stack_each_seed_is_trained_once():
    configs = [
        small(*FINETUNED, f"alignment.alpha={alpha}").with_seeds({"seed": seed}) for alpha in (0, 1) for seed in (0, 1)
    ]
    watched = []
    records = execute_together(configs, lambda step, losses: watched.append((step, losses)))
    assert len(pretraining._cache) == 2
    assert [step for step, _ in watched] == records[0].training["step"].tolist()
    for index, record in enumerate(records):
        assert [losses[index] for _, losses in watched] == record.training["loss"].tolist()
        for expected, found in zip(tables(execute(configs[index])), tables(record), strict=True):
            pd.testing.assert_frame_equal(expected, found, check_exact=True)


def test_no_more_are_kept_than_memory_is_meant_for(monkeypatch):
    monkeypatch.setattr(pretraining, "CACHED", 2)
    for seed in range(3):
        execute(small(*FINETUNED).with_seeds({"seed": seed}))
    assert len(pretraining._cache) == 2


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
def test_what_decides_the_first_training(override, shared):
    assert (small(*FINETUNED).pretraining == small(*FINETUNED, override).pretraining) == shared
