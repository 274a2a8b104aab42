"""Many runs in one store: resumed, retried, failing, damaged, and two sweeps at once."""

import math
import os
import re
import signal
import threading
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pandas as pd
import pytest

from support.configs import EXPLOSIVE, config, small, small_sequences
from support.processes import at_once, start
from support.records import all_weights, record
from synthlab.errors import RunsFailed
from synthlab.runs.composition import compose
from synthlab.storage.store import Store
from synthlab.sweeps.ranking import rank_runs, render_rankings, summarize_run
from synthlab.sweeps.sweep import Sweep, count_workers, ensure
from synthlab.sweeps.workers import _begin, map_ensembles

BROKEN = "task=support.user_classes:Broken"


@pytest.fixture
def flag(tmp_path, monkeypatch) -> Path:
    """A file that makes runs of ``Broken`` fail."""
    path = tmp_path / "flag"
    path.touch()
    monkeypatch.setenv("BROKEN", str(path))
    return path


def test_a_failed_run_has_a_status_a_tag_and_a_traceback_and_the_others_are_trained(tmp_path, flag):
    store = Store(tmp_path, tag="pilot")
    good, bad = [config(f"seed={seed}") for seed in (0, 1)], config("task.name=support.user_classes:Broken")
    with pytest.raises(RunsFailed) as caught:
        ensure([good[0], bad, good[1]], store, progress=False)
    assert caught.value.lines[0].startswith("failed: 1 of 3 runs")
    assert caught.value.lines[1].endswith(f"{bad.id} seed=0: {BROKEN}: ZeroDivisionError: over and under")
    assert all(map(store.is_recorded, good))
    assert store.ids("failed") == [bad.id]
    failure = store.read_failure(bad.id)
    assert failure.config == bad
    assert failure.traceback.startswith("Traceback (most recent call last)")
    assert "in targets" in failure.traceback
    assert Store(tmp_path).tags == dict.fromkeys([*(each.id for each in good), bad.id], ("pilot",))
    assert not list(tmp_path.glob("leases/*"))

    flag.unlink()  # mended: from Python it is tried again without being told to
    assert len(ensure([bad], store, progress=False)) == 1
    assert store.ids("failed") == []


def test_a_run_returns_the_record_that_is_read_later(tmp_path):
    runs = [
        config("outrep=power"),
        config("model=linear", "model.head_dim=2"),
        small_sequences("task=copy"),
        small("task=recall"),
    ]
    for workers in (1, 2):
        store = Store(tmp_path / str(workers), "checkpoints", tag="pilot")
        for kept in ensure(runs, store, workers, progress=False):
            read = Store(store.files.address).read(kept.config.id)
            for name in ("metrics", "training", "outputs"):
                one, other = getattr(kept, name), getattr(read, name)
                assert one is other is None or pd.testing.assert_frame_equal(one, other, check_exact=True) is None
            assert all_weights(kept) == all_weights(read)
            for name in ("config", "diverged_at", "environment", "tags"):
                assert getattr(kept, name) == getattr(read, name)


def die(configs):
    """Work that the operating system ends."""
    if any(config.seed == 1 for config in configs):
        os.kill(os.getpid(), 9)
    return [config.seed for config in configs]


def send_interrupted(configs):
    return Interrupting()


@pytest.mark.slow
def test_only_the_run_that_kills_its_worker_is_given_up():
    plan = [[config(f"seed={seed}") for seed in seeds] for seeds in ((0, 1), (2,))]
    done = map_ensembles(die, plan, 2, give_up=lambda config: [-config.seed])
    assert sorted(done) == [[-1], [0], [2]]
    with pytest.raises(BrokenExecutor):
        list(map_ensembles(die, plan[:1], 1, suspects=["one that was killed before"]))


class Interrupting:
    """A result during whose sending the user presses Ctrl-C."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGINT)
        return str, ("whole",)


@pytest.mark.slow
def test_ctrl_c_does_not_cut_what_a_worker_sends():
    done = map_ensembles(send_interrupted, [[config("seed=0")], [config("seed=1")]], 2)
    assert list(done) == ["whole", "whole"]


def test_workers_take_the_gpus_in_turn(monkeypatch):
    taken = []
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    monkeypatch.setattr("torch.cuda.set_device", taken.append)
    monkeypatch.setattr("synthlab.sweeps.workers.exit_with_parent", lambda parent: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert [count_workers(given, "cuda") for given in (None, 2, 6)] == [4, 2, 6]
    for number in range(6):
        _begin("cuda", number, 0)
    _begin("cpu", 7, 0)
    assert taken == [0, 1, 2, 3, 0, 1]


def test_what_others_train_is_left_to_them_and_waited_for(tmp_path):
    store, configs = Store(tmp_path), [config(f"seed={seed}") for seed in range(3)]
    sweep = Sweep(configs, store, keep=lambda record: record)
    done = threading.Event()
    with store.leases.hold([configs[0].id]):
        sweep.train(wait=False)
        assert set(store.ids()) == {each.id for each in configs[1:]}
        waiting = threading.Thread(target=lambda: (sweep.train(), done.set()))
        waiting.start()
        assert not done.wait(0.3)
    assert done.wait(60)
    waiting.join()
    assert not sweep.missing


@pytest.mark.slow
def test_two_sweeps_at_once_train_each_run_once(tmp_path):
    sweep = ["task=mean,length", "seed=range(6)", "protocol.steps=60", "protocol.batch=8", "evaluation.sequences=8"]
    log = ["tracker.name=support.user_classes:Log", f"+tracker.path={tmp_path / 'log'}"]
    both = [start("synthlab", "-m", *sweep, *log, f"results={tmp_path}", "workers=2") for _ in range(2)]
    ended = [(process.communicate(timeout=300), process.returncode) for process in both]
    assert [status for _, status in ended] == [0, 0], ended
    begun = (tmp_path / "log").read_text().split()
    assert len(begun) == len(set(begun)) == 12
    assert all("12 done, 0 failed, 0 skipped, 0 left" in errors for (_, errors), _ in ended)
    tables = [out.split("records:")[0] for (out, _), _ in ended]
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_a_sweep_prints_its_best_and_worst_and_where_they_lie(invoke, quick, tmp_path):
    words = ["synthlab", *quick, "-m", "task=mean,length", "encoding=nope,rope,alibi,t5", "outrep=identity,rsqrt"]
    words += ["seed=0,1"]
    outcome = invoke(*words)
    assert outcome.status == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "median over seeds at the longest test length: the best 10 of 16"
    worst = lines.index("the worst 5, from the last")
    shown = [*lines[2:12], *reversed(lines[worst + 2 : worst + 7])]
    errors = [float(re.search(r"([\d.]+)%", line)[1]) for line in shown]
    assert errors == sorted(errors)
    assert lines[-2] == f"records: {tmp_path}/runs"
    ranking, runs = re.findall(r"\S+\.csv", lines[-1])
    assert (len(pd.read_csv(ranking)), len(pd.read_csv(runs))) == (16, 32)
    assert "32 done, 0 failed, 0 skipped, 0 left" in outcome.err
    again = invoke(*words)
    assert "0 done, 0 failed, 32 skipped, 0 left" in again.err
    assert again.out.splitlines()[:-1] == lines[:-1]


def test_a_sweep_goes_on_after_failures_and_names_them(invoke, quick, tmp_path, flag):
    arguments = [*quick, "-m", "workers=1", "task.name=mean,support.user_classes:Broken", "seed=0,1"]
    outcome = invoke("synthlab", *arguments)
    assert outcome.status == 1
    assert "2 done, 2 failed, 0 skipped, 0 left" in outcome.err
    assert f"failed: 2 of 4 runs; the traceback of each: synthlab show ID results={tmp_path}" in outcome.err
    told = rf"^  [0-9a-f]{{16}} seed=[01]: {BROKEN}: ZeroDivisionError: over and under$"
    assert len(re.findall(told, outcome.err, re.M)) == 2
    assert "Traceback" not in outcome.err + outcome.out
    flag.unlink()
    assert invoke("synthlab", *arguments).status == 1  # what failed is left alone
    mended = invoke("synthlab", *arguments, "retry=failed")
    assert mended.status == 0, mended.err
    assert "2 done, 0 failed, 2 skipped, 0 left" in mended.err


@pytest.mark.slow
def test_a_sweep_that_is_all_there_needs_nothing_writable(invoke, quick, tmp_path, monkeypatch):
    assert invoke("synthlab", *quick, "-m", "seed=0,1").status == 0

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("os.fsync", read_only)
    again = invoke("synthlab", *quick, "-m", "seed=0,1")
    assert again.status == 0
    assert "cannot be written (Read-only file system); the records are kept" in again.err
    more = invoke("synthlab", *quick, "-m", "seed=0,1,2")
    assert more.status == 2
    assert more.err.strip().startswith("error: results=")


def test_combinations_rank_by_their_median_error_and_what_has_none_is_last():
    plain = {"outrep": {"name": "identity", "shift": 0.0}}
    rows = [
        summarize_run(record(seed, task={"name": task}, **plain)) | {"relative_error": error + 0.01 * seed}
        for task, error in {"mean": 0.1, "length": 0.3, "sum": 0.2}.items()
        for seed in (0, 1, 2)
    ]
    ranking = rank_runs(rows)
    assert list(ranking["task"]) == ["mean", "sum", "length"]
    assert list(ranking["relative_error"]) == pytest.approx([0.11, 0.21, 0.31])
    columns = ["task", "seeds", "diverged", "horizon", "relative_error", "mse", "chance", "training_loss"]
    assert list(ranking) == columns
    # Trained on lengths 1 to 10, whose mean is 5.5, and ranked at the longest test length.
    assert rows[3]["chance"] == ranking["chance"].iloc[-1] == (rows[3]["test_length"] - 5.5) ** 2
    no_level = rank_runs([each | {"chance": math.nan} for each in rows])  # of a class of the user
    assert list(no_level) == [name for name in columns if name != "chance"]

    def rank_changed(**changed) -> pd.DataFrame:
        """The ranking if two of the three runs of the best combination come out otherwise."""
        return rank_runs([each | changed if each["task"] == "mean" and each["seed"] else each for each in rows])

    assert list(rank_changed(relative_error=math.nan)["task"]) == ["sum", "length", "mean"]
    diverged = rank_changed(relative_error=math.nan, status="diverged")  # the median is over the others
    assert list(zip(diverged["task"], diverged["diverged"], strict=True)) == [("mean", 2), ("sum", 0), ("length", 0)]
    assert "diverged" in render_rankings({"numbers": diverged})


def test_two_sweeps_that_find_one_file_damaged_mend_it_once(tmp_path):
    run = config()
    ensure([run], Store(tmp_path), progress=False)
    (path,) = tmp_path.glob("runs/*.parquet")
    path.write_bytes(path.read_bytes()[:-1])
    sweeps = [Sweep([run], Store(tmp_path), keep=summarize_run) for _ in range(2)]
    at_once([sweep.prepare for sweep in sweeps])
    for sweep in sweeps:
        sweep.train()
    assert not any(sweep.missing for sweep in sweeps)
    assert len(list(tmp_path.glob("damaged/*"))) == 1
    assert Store(tmp_path).ids() == [run.id]


def test_one_run_is_shown_by_its_first_digits_and_a_damaged_failure_is_tried_again(invoke, quick, tmp_path, flag):
    invoke("synthlab", *quick, "-m", "task.name=length,support.user_classes:Broken")
    store = Store(tmp_path)
    shown = invoke("show", store.ids()[0][:9], str(tmp_path))
    assert shown.status == 0
    assert all(f"  {line}\n" in shown.out for line in ("task: length", "seed: 0", "weights after: none", "tags: none"))
    assert "training curve" in shown.out
    failed = invoke("show", store.ids("failed")[0][:9], f"results={tmp_path}")
    assert "ZeroDivisionError: over\n  and under" in failed.out
    assert "in targets" in failed.out
    alone = [*quick, "-m", "task.name=support.user_classes:Broken"]
    assert "in targets" in invoke("synthlab", *alone).err  # of one run of a user's own class, its traceback
    (path,) = tmp_path.glob("failed/*.json")
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'))
    assert "in targets" in invoke("synthlab", *alone).err  # a damaged failure is tried again
    for prefix, why in (("x", "there is no such run"), ("", "2 runs begin so; give more digits")):
        assert invoke("show", prefix, str(tmp_path)).err == f"error: {prefix}: {why} below results={tmp_path}\n"


@pytest.mark.slow
def test_a_sweep_with_diverged_runs_says_so(invoke, quick):
    outcome = invoke("synthlab", *quick, *EXPLOSIVE, "-m", "protocol.lr=1e-3,1e30", "workers=1")
    assert outcome.status == 1
    assert re.search(r"^diverged: 1 of 2 runs, the first [0-9a-f]{16} at step \d+;", outcome.err, re.M)
    assert "diverged" in outcome.out.splitlines()[1]


def test_threads_may_compose_at_once():
    assert at_once([lambda seed=seed: compose([f"seed={seed}"])["seed"] for seed in range(4)]) == [0, 1, 2, 3]
