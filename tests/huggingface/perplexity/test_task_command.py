"""``synthlab evaluate`` with tasks: on a random Llama and on a run of the lab; what is kept; what is refused."""

import json
from contextlib import contextmanager

import pandas as pd
import pytest

from support.tiny_llama import saved

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A folder with a random Llama of bytes, and its tokenizer."""
    pytest.importorskip("lm_eval")
    return saved(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def evaluate(invoke, llama, tmp_path):
    """The command, with results in a folder of its own."""

    def call(*words, model=llama):
        return invoke("synthlab", "evaluate", f"model={model}", "device=cpu", f"results={tmp_path}", *words)

    return call


def tables(folder):
    return sorted(folder.glob("evaluate/tasks-*/tasks.csv"))


def test_scores_have_a_folder_for_each_setting(evaluate, tmp_path, monkeypatch):
    from synthlab.huggingface.benchmarks import harness

    calls = []

    @contextmanager
    def scored(model, tokenizer, tasks, cache, **others):
        calls.append((tasks, others))
        yield lambda: pd.DataFrame({"task": tasks, "value": [0.5]})

    monkeypatch.setattr(harness, "prepared", scored)
    others = ["tasks=[facts]", "task_limit=2", "seed=3", "lengths=[300]", f"task_data={tmp_path}"]
    assert evaluate(*others).status == 0
    given = {"data": str(tmp_path), "limit": 2, "samples": 100, "seed": 3, "lengths": (300,), "field": "task_data"}
    assert calls == [(["facts"], given)]
    for words in (others, [*others, "task_limit=3"], [*others[:1], "lengths=[200]"]):
        assert evaluate(*words).status == 0
    assert len(tables(tmp_path)) == 3
    limits = {json.loads(path.read_text())["task_limit"] for path in tmp_path.glob("evaluate/tasks-*/tasks.json")}
    assert limits == {None, 2, 3}


def test_an_interrupted_call_goes_on_with_the_tasks_that_lack(evaluate, tmp_path, monkeypatch):
    from synthlab.huggingface.benchmarks import published

    words = ["tasks=[needle,facts]", "lengths=[128,180]", "task_samples=2"]
    whole = evaluate(*words, f"results={tmp_path / 'whole'}")
    assert whole.status == 0, whole.err
    assert "tasks: 4, of 8 samples\n" in whole.err
    run, done = published.run, []

    def interrupted(setting, task):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(task)
        return run(setting, task)

    with monkeypatch.context() as patched:
        patched.setattr(published, "run", interrupted)
        stopped = evaluate(*words)
    assert stopped.status == 130
    assert not tables(tmp_path)
    next(tmp_path.glob("evaluate/parts/*/*.json")).write_text('{"rows": [')  # and one was damaged since
    going_on = evaluate(*words)
    assert "tasks: 4, of 8 samples; 2 of 4 are recorded" in going_on.err
    assert going_on.out.split("\n\n")[0] == whole.out.split("\n\n")[0]
    assert "recorded" not in evaluate(*words, "seed=1").err
    assert "recorded" not in evaluate(*words, "dtype=float64").err
