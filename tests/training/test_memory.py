"""What runs take of the memory: by hand, below what they really take, and refused in one line where it is too much."""

import re

import pytest
import torch

from support.configs import config
from synthlab.errors import InputError
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep
from synthlab.training import memory
from synthlab.training.memory import check_trainable, find_available, need

GIB = 2**30


def test_what_a_run_takes_by_hand():
    sizes = ["model.width=8", "model.depth=2", "model.heads=2", "model.mlp_ratio=2"]
    lengths = ["protocol.batch=3", "train_length=5", "test_length=7"]
    # A layer has 4 * 8^2 weights of attention and 2 * 8 * 16 of its feed-forward net; for each of 3 * 5 symbols it
    # keeps twice 8 and 16, and, for each of 2 heads, logits and weights of 5 keys. 16 bytes a symbol, 4 a number.
    weights, kept, attended = 2 * (256 + 256), 15 * 2 * (2 * (8 + 16) + 2 * 5), 2 * 2 * 49
    assert need(config(*sizes, *lengths)) == (4 * weights, 4 * kept + 16 * 15, 4 * attended)
    learned = need(config(*sizes, *lengths, "encoding=learned", "encoding.table=20"))
    assert learned.weights == 4 * (weights + 20 * 8)
    own = config(*lengths).model_copy(update={"model": {"name": "mine:Model", "width": "wide"}})
    assert need(own) == (0, 16 * 15, 0)  # what its keys mean is its own business


def test_there_is_some_memory_and_no_more_than_a_limit(monkeypatch, tmp_path):
    assert GIB / 4 < find_available() < 2**50
    (tmp_path / "limit").write_text("1000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "LIMITS", (str(tmp_path / "limit"), str(tmp_path / "none"), "/nowhere"))
    assert find_available() == 1000


TAKES = r"takes [\d.]+ GiB of memory or more; must take less than the 0.0 GiB there are"
LARGE = {
    "model.width=512 model.depth=4": ["model.width=512", "model.depth=4"],
    "model.width=32 model.depth=1 encoding.table=400000": ["encoding=learned", "encoding.table=400000"],
    "protocol.batch=20000 train_length=10": ["protocol.batch=20000"],
    "test_length=2000": ["test_length=2000"],
}


@pytest.mark.parametrize("fields", LARGE)
def test_what_cannot_fit_is_refused_in_one_line(monkeypatch, fields):
    monkeypatch.setattr(memory, "find_available", lambda device="cpu": 32.0 * 2**20)
    with pytest.raises(InputError, match=f"^{re.escape(fields)}: {TAKES}$"):
        check_trainable([config(*LARGE[fields])])


@pytest.mark.parametrize("sweep", [[], ["-m", "seed=0,1"]])
def test_what_cannot_fit_is_refused_before_it_is_tried(invoke, quick, tmp_path, monkeypatch, sweep):
    monkeypatch.setattr(memory, "find_available", lambda device="cpu": 32.0 * 2**20)
    monkeypatch.setattr("synthlab.training.execution.execute_together", lambda *_: pytest.fail("it was tried"))
    outcome = invoke("synthlab", *quick, "model.width=512", "model.depth=4", *sweep)
    lines = [line for line in outcome.err.splitlines() if " left |" not in line]
    assert (outcome.status, len(lines)) == (2, 1), outcome.err
    assert re.fullmatch(f"error: model.width=512 model.depth=4: {TAKES}", lines[0])
    assert not list(tmp_path.glob("runs/*"))


def test_a_job_records_what_cannot_fit_as_failed_and_trains_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "find_available", lambda device="cpu": 2.0 * 2**20)
    small, large = config(), config("protocol.batch=5000")
    sweep = Sweep([small, large], Store(tmp_path), keep=lambda record: record)
    with pytest.raises(InputError, match=r"^protocol.batch=5000 train_length=10: takes"):
        sweep.train()
    sweep.train(wait=False)
    outcome = sweep.end()
    assert list(outcome.kept) == [small.id]
    assert "protocol.batch=5000 train_length=10: takes" in outcome.failures[large.id].error


def test_memory_that_runs_out_all_the_same_is_said_in_one_line(invoke, quick, monkeypatch):
    def build(*_):
        torch.empty(2**58)

    monkeypatch.setattr("synthlab.regression.construction.build_models", build)
    outcome = invoke("synthlab", *quick)
    asked = f"{2**60 / GIB:,.1f} GiB were asked for at once"
    line = f"MemoryError: there is not enough memory ({asked}); a smaller model, batch or length takes less"
    assert (outcome.status, outcome.out, outcome.err) == (1, "", f"failed: {line}\n")
