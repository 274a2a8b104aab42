"""``save=weights``: which runs are trained for it, and what becomes of records that have none."""

from dataclasses import replace

import pytest

from support.configs import config
from support.quick import EXPLOSIVE
from support.records import final_weights, record, with_weights
from synthlab.errors import RunsFailed, StoreError
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import FEW, Sweep, ensure


@pytest.mark.parametrize("where", ["folder", "memory://weights/results"])
def test_weights_join_a_record_with_the_same_numbers_and_no_other(tmp_path, where):
    store = Store(tmp_path if where == "folder" else where, save="weights")
    kept = record()
    store.write(kept)
    assert not store.holds(kept.config)
    assert store.find_recorded({kept.config.id: kept.config}) == set()
    with pytest.raises(StoreError, match="this run gives other numbers .recorded with torch 2 ") as caught:
        store.write(with_weights(record(scale=1 + 1e-15), b"numbers"))
    assert f"runs/{kept.config.id}: " in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="this run gives other numbers"):
        store.write(record(diverged_at=3))
    store.write(kept)  # without weights there is nothing to add
    assert not store.read(kept.config.id).weights
    store.write(replace(with_weights(kept, b"numbers"), environment={"torch": "3"}))
    assert store.holds(kept.config)
    assert store.find_recorded({kept.config.id: kept.config, "0" * 16: record(9).config}) == {kept.config.id}
    found = store.read(kept.config.id)
    assert (final_weights(found), found.environment) == (b"numbers", kept.environment)
    store.write(with_weights(kept, b"others"))  # it stays as it is
    assert final_weights(store.read(kept.config.id)) == b"numbers"


@pytest.mark.parametrize("runs", [2, FEW + 1])
def test_runs_without_weights_are_trained_again_and_only_those(tmp_path, runs):
    configs = [config(f"seed={seed}") for seed in range(runs)]
    plain = ensure([*configs, config(*EXPLOSIVE)], Store(tmp_path), progress=False)
    store = Store(tmp_path, "weights")
    ensure(configs[:1], store, progress=False)
    untouched = (store.runs / configs[0].id / "status.json").stat().st_mtime_ns
    sweep = Sweep([*configs, config(*EXPLOSIVE)], store, keep=lambda record: record)
    sweep.prepare()
    assert sweep.outcome.skipped == 2  # one has its weights, one has diverged and has no model
    assert sweep.progress().count()[2:4] == (2, runs - 1)
    sweep.train()
    kept = list(sweep.end().kept.values())
    assert sweep.outcome.missing == 0
    assert (store.runs / configs[0].id / "status.json").stat().st_mtime_ns == untouched
    assert [bool(each.weights) for each in kept] == [True] * runs + [False]
    for one, other in zip(plain, kept, strict=True):
        assert one.metrics.equals(other.metrics)
        assert one.environment == other.environment
    again = Sweep(configs, store, keep=lambda record: record)
    again.prepare()
    assert again.find_missing() == []


def test_what_one_run_of_an_ensemble_lacks_costs_no_other_its_record(tmp_path):
    configs = [config(f"seed={seed}") for seed in range(3)]
    Store(tmp_path).write(replace(record(), config=configs[0]))
    with pytest.raises(RunsFailed, match=f"runs/{configs[0].id}: .* gives other numbers"):
        ensure(configs, Store(tmp_path, "weights"), progress=False)
    assert [Store(tmp_path, "weights").holds(each) for each in configs] == [False, True, True]


@pytest.mark.parametrize("runs", [1, 2])
def test_a_run_that_raises_when_trained_again_is_not_recorded_as_failed(tmp_path, monkeypatch, runs):
    flag = tmp_path / "broken"
    monkeypatch.setenv("BROKEN", str(flag))
    broken = [config("task.name=support.user_classes:Broken", f"seed={seed}") for seed in range(runs)]
    ensure(broken[:1], Store(tmp_path), progress=False)
    flag.touch()
    line = rf"runs/{broken[0].id}: its weights could not be made .ZeroDivisionError: over and under.; the record stays"
    with pytest.raises(RunsFailed, match=line):
        ensure(broken, Store(tmp_path, "weights"), progress=False)
    assert broken[0].id not in set(Store(tmp_path).ids("failed"))
    flag.unlink()
    assert all(each.weights for each in ensure(broken, Store(tmp_path, "weights"), progress=False))
