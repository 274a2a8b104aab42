"""``save=weights``: which runs are trained for it, and what becomes of records that have none."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open

import synthlab
from experiments.long_short_alignment.scalar import ScalarConfig
from support.configs import config
from support.quick import QUICK
from support.records import record
from support.small import small
from synthlab.collect import collect
from synthlab.errors import InputError, StoreError
from synthlab.storage.records import WEIGHTS
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import FEW, Sweep, ensure

EXPLOSIVE = ("protocol.optimizer=sgd", "protocol.lr=1e30", "protocol.steps=30", "model.norm=none")


def test_weights_are_written_and_read_like_the_other_files(tmp_path):
    store, kept = Store(tmp_path), replace(record(), weights=b"\x00\xff numbers")
    store.write(kept)
    assert store.read(kept.config.id).weights == kept.weights
    folder = store.runs / kept.config.id
    assert WEIGHTS in json.loads((folder / "status.json").read_text())["sha256"]
    (folder / WEIGHTS).write_bytes(b"\x00\xfe numbers")
    with pytest.raises(InputError, match="damaged record .weights.safetensors does not have its checksum"):
        store.read(kept.config.id)
    (folder / WEIGHTS).unlink()
    with pytest.raises(InputError, match="damaged record"):
        store.read(kept.config.id)


@pytest.mark.parametrize("where", ["folder", "memory://weights/results"])
def test_weights_join_a_record_with_the_same_numbers_and_no_other(tmp_path, where):
    store = Store(tmp_path if where == "folder" else where, save="weights")
    kept = record()
    store.write(kept)
    assert not store.holds(kept.config)
    assert store.recorded({kept.config.id}) == set()
    with pytest.raises(StoreError, match="this run gives other numbers .recorded with torch 2 ") as caught:
        store.write(replace(record(scale=1 + 1e-15), weights=b"numbers"))
    assert f"runs/{kept.config.id}: " in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="this run gives other numbers"):
        store.write(record(diverged_at=3))
    store.write(kept)  # without weights there is nothing to add
    assert store.read(kept.config.id).weights is None
    store.write(replace(kept, weights=b"numbers", environment={"torch": "3"}))
    assert store.holds(kept.config)
    assert store.recorded({kept.config.id, "0" * 16}) == {kept.config.id}
    found = store.read(kept.config.id)
    assert (found.weights, found.environment) == (b"numbers", kept.environment)
    store.write(replace(kept, weights=b"others"))  # it stays as it is
    assert store.read(kept.config.id).weights == b"numbers"


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
    assert [each.weights is not None for each in kept] == [True] * runs + [False]
    for one, other in zip(plain, kept, strict=True):
        assert one.metrics.equals(other.metrics)
        assert one.environment == other.environment
    again = Sweep(configs, store, keep=lambda record: record)
    again.prepare()
    assert again.missing() == []


def test_other_numbers_end_the_sweep_in_one_line_and_leave_the_record(tmp_path):
    (made,) = ensure([config()], Store(tmp_path), progress=False)
    Store(tmp_path / "other").write(replace(made, metrics=made.metrics.assign(bias=0.0)))
    with pytest.raises(StoreError, match="gives other numbers"):
        synthlab.run(**QUICK, results=tmp_path / "other", progress=False, save="weights")
    left = Store(tmp_path / "other")
    assert left.read(made.config.id).weights is None
    assert list(left.ids("failed")) == []
    synthlab.run(**QUICK, results=tmp_path / "other", progress=False)  # without weights it is as good as before


def test_a_run_that_diverges_when_trained_again_ends_the_sweep(tmp_path):
    run = config(*EXPLOSIVE)
    finished = replace(record(), config=run)  # as a machine that rounds otherwise may have it
    Store(tmp_path).write(finished)
    with pytest.raises(StoreError, match=f"runs/{run.id}: trained again, this run gives other numbers"):
        ensure([run], Store(tmp_path, "weights"), progress=False)
    assert Store(tmp_path).read(run.id).status == "finished"


def test_what_one_run_of_an_ensemble_lacks_costs_no_other_its_record(tmp_path):
    configs = [config(f"seed={seed}") for seed in range(3)]
    Store(tmp_path).write(replace(record(), config=configs[0]))
    with pytest.raises(StoreError, match=f"runs/{configs[0].id}: .* gives other numbers"):
        ensure(configs, Store(tmp_path, "weights"), progress=False)
    assert [Store(tmp_path, "weights").holds(each) for each in configs] == [False, True, True]


@pytest.mark.parametrize("runs", [2, FEW + 1])
def test_damaged_records_without_weights_are_set_aside_and_trained_anew(tmp_path, runs):
    configs = [config(f"seed={seed}") for seed in range(runs)]
    plain = ensure(configs, Store(tmp_path), progress=False)
    numbers = tmp_path / "runs" / configs[0].id / "metrics.csv"
    numbers.write_bytes(numbers.read_bytes()[:100])
    with pytest.warns(UserWarning, match=f"a damaged record was trained anew; it lies in .*damaged/{configs[0].id}-"):
        again = ensure(configs, Store(tmp_path, "weights"), progress=False)
    assert all(each.weights is not None for each in again)
    assert again[0].metrics.equals(plain[0].metrics)


@pytest.mark.parametrize("runs", [1, 2])
def test_a_run_that_raises_when_trained_again_is_not_recorded_as_failed(tmp_path, monkeypatch, runs):
    flag = tmp_path / "broken"
    monkeypatch.setenv("BROKEN", str(flag))
    broken = [config("task.name=support.user_classes:Broken", f"seed={seed}") for seed in range(runs)]
    ensure(broken[:1], Store(tmp_path), progress=False)
    flag.touch()
    line = rf"runs/{broken[0].id}: its weights could not be made .ZeroDivisionError: over and under.; the record stays"
    with pytest.raises(StoreError, match=line):
        ensure(broken, Store(tmp_path, "weights"), progress=False)
    assert broken[0].id not in set(Store(tmp_path).ids("failed"))
    flag.unlink()
    assert all(each.weights is not None for each in ensure(broken, Store(tmp_path, "weights"), progress=False))


def test_what_was_found_whole_is_not_read_again(tmp_path, monkeypatch):
    store, kept = Store(tmp_path, "weights"), replace(record(), weights=b"numbers")
    store.write(kept)
    assert store.holds(kept.config)
    monkeypatch.setattr(store.files, "read", lambda path: pytest.fail(f"{path} was read"))
    assert store.holds(kept.config)
    assert store.recorded({kept.config.id}) == {kept.config.id}
    store.set_aside(kept.config.id)
    assert not store.holds(kept.config)
    monkeypatch.undo()
    Store(tmp_path).write(replace(kept, weights=None))
    assert not store.holds(kept.config)


def test_runs_of_other_families_are_kept_too(tmp_path):
    runs = [small("language=hidden_markov", f"seed={seed}") for seed in (0, 1)]
    runs.append(ScalarConfig.of(config("model.width=8")))
    for made in ensure(runs, Store(tmp_path, "weights"), progress=False):
        again = replace(made, weights=None).model().module.state_dict()
        loaded = made.model().module.state_dict()
        assert all(torch.equal(values, again[name]) for name, values in loaded.items())


def test_tables_say_which_runs_have_weights(tmp_path):
    store = Store(tmp_path / "results")
    store.write(record(0))
    store.write(replace(record(1), weights=b"numbers"))
    found = collect(store.root, tmp_path / "runs.csv", where="weights=true")
    assert found.runs == 1
    table = synthlab.load_records(store.root)
    assert dict(zip(table["seed"], table["weights"], strict=True)) == {0: False, 1: True}


def test_what_can_be_kept_is_weights(tmp_path, invoke, quick):
    with pytest.raises(InputError, match="save=wieghts: unknown, did you mean weights.; choose from weights"):
        synthlab.run(results=tmp_path, save="wieghts")
    for program, more in (("synthlab", ()), ("synthlab", ("-m", "seed=0,1")), ("experiments", ("figure='1'",))):
        outcome = invoke(program, *quick, *more, "save=all")
        assert (outcome.status, outcome.err) == (2, "error: save=all: unknown; choose from weights\n")
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_sweep_keeps_the_weights_of_all_its_runs(invoke, quick, tmp_path):
    words = [*quick, "-m", "task=mean,length", "encoding=nope,alibi", "seed=0,1,2", "workers=2"]
    assert invoke("synthlab", *words).status == 0
    kept = invoke("synthlab", *words, "save=weights")
    assert kept.status == 0, kept.err
    assert "12 done, 0 failed, 0 skipped, 0 left" in kept.err
    paths = list(tmp_path.glob(f"runs/*/{WEIGHTS}"))
    assert len(paths) == 12
    for path in paths:
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["run"])["config"]
        assert told == json.loads((path.parent / "config.json").read_text())
    assert "0 done, 0 failed, 12 skipped, 0 left" in invoke("synthlab", *words, "save=weights").err


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib"])
def test_the_jobs_of_a_launcher_keep_weights(invoke, quick, tmp_path, launcher):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    outcome = invoke("synthlab", *quick, "-m", "seed=0,1", f"hydra/launcher={launcher}", "save=weights")
    assert outcome.status == 0, outcome.err
    assert len(list(tmp_path.glob(f"runs/*/{WEIGHTS}"))) == 2


@pytest.mark.slow
def test_a_figure_keeps_the_weights_of_its_runs(invoke, quick, tmp_path):
    outcome = invoke("experiments", *quick, "figure='5'", "seeds=1", "save=weights")
    assert outcome.status == 0, outcome.err
    runs = list((tmp_path / "runs").iterdir())
    assert len(list(tmp_path.glob(f"runs/*/{WEIGHTS}"))) == len(runs) > 1
