import json

import pytest
import torch
from conftest import QUICK

from synthlab import workers
from synthlab.assembly import build_models, resolve
from synthlab.composition import as_overrides, compose
from synthlab.encodings import ENCODINGS, Dims, Encoding
from synthlab.errors import InputError
from synthlab.runs import execute, execute_stack
from synthlab.workers import find_device, stacks

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


class Stubborn(Encoding):
    """A user's own encoding that knows of one model only."""

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.vector = torch.nn.Parameter(torch.zeros(dims.width))


def config(*overrides: str):
    return resolve(compose([*as_overrides(QUICK), *overrides]))


MIXED = [
    ("task=length", "outrep=rsqrt", "seed=3"),
    ("task=mean", "protocol.lr=0.02"),
    ("task=sum", "inputs=uniform_count", "length_distribution=proportional"),
    ("task=length", "protocol.lr=1e-4", "test_length=12", "evaluation.sequences=7"),
    ("task=length", "outrep=log", "seed=1"),
]
SHAPES = [
    *((f"encoding={name}",) for name in ENCODINGS),
    ("model.depth=2", "encoding=alibi"),
    ("model.width=36", "protocol.batch=3", "train_length=7"),
    ("model.attention=linear", "model.norm=post"),
    ("train_length=30", "test_length=40", "protocol.batch=5"),
    ("model=linear",),
]


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_a_run_in_a_stack_says_to_the_last_bit_what_it_says_alone(shape):
    configs = [config("protocol.steps=20", *shape, *own) for own in MIXED]
    for record, run in zip(execute_stack(configs), configs, strict=True):
        alone = execute(run)
        assert record.status == alone.status == "finished"
        assert record.config == run
        assert record.metrics.equals(alone.metrics)
        assert record.training.equals(alone.training)
        assert (record.outputs is None) == (alone.outputs is None)
        assert record.outputs is None or record.outputs.equals(alone.outputs)


def test_a_run_that_diverges_in_a_stack_is_recorded_as_alone():
    wild = ("protocol.optimizer=sgd", "model.norm=none", "protocol.steps=30", "task=length")
    configs = [config(*wild, f"protocol.lr={lr}") for lr in ("1e-3", "1e30", "1e-4")]
    together = execute_stack(configs)
    assert [record.status for record in together] == ["finished", "diverged", "finished"]
    for record, run in zip(together, configs, strict=True):
        alone = execute(run)
        assert record.diverged_at == alone.diverged_at
        assert record.metrics.equals(alone.metrics)
        assert record.training.equals(alone.training)


def test_stacks_hold_runs_of_one_shape_and_lose_none():
    grid = [(n, w, lr) for n in ("nope", "rope") for w in (16, 32) for lr in ("1e-3", "1e-2")]
    configs = [
        config(f"encoding={n}", f"model.width={w}", f"protocol.lr={lr}", f"seed={seed}")
        for n, w, lr in grid
        for seed in range(3)
    ]
    for count in (1, 2, 3, 16):
        plan = stacks(configs, count)
        assert sorted(run.id for stack in plan for run in stack) == sorted(run.id for run in configs)
        assert all(len({run.shape for run in stack}) == 1 for stack in plan)
    assert len(stacks(configs, 1)) == 4


def test_no_worker_is_left_without_a_stack():
    configs = [config(f"seed={seed}") for seed in range(7)]
    assert [len(stacks(configs, count)) for count in (1, 2, 3, 7, 20)] == [1, 2, 3, 7, 7]
    assert [len(stack) for stack in stacks(configs, 2)] == [4, 3]


def test_large_runs_are_stacked_less_and_long_ones_come_first():
    large = [config("protocol.batch=2000", f"seed={seed}") for seed in range(3)]
    small = [config(f"seed={seed}") for seed in range(3)]
    assert [len(stack) for stack in stacks([*small, *large], 1)] == [1, 1, 1, 3]
    long = config("protocol.steps=5000")
    assert stacks([*small, long], 1)[0] == [long]


def test_what_shares_a_shape_differs_in_no_arithmetic():
    base = config()
    for own in MIXED:
        assert config(*own).shape == base.shape
    for other in ("model.width=64", "encoding=t5", "protocol.steps=9", "protocol.momentum=0.5", "train_length=9"):
        assert config(other).shape != base.shape
    assert json.loads(base.shape)


def test_a_parameter_without_a_dimension_of_models_is_refused():
    expected = (
        r"encoding=test_workers:Stubborn: parameter vector has shape \(32,\); must begin with the number of models"
    )
    with pytest.raises(InputError, match=expected):
        config("encoding.name=test_workers:Stubborn")


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto") == find_device("cpu") == "cpu"
    with pytest.raises(InputError, match="^device=cuda: there is none on this machine; choose cpu or auto$"):
        find_device("cuda")
    with pytest.raises(InputError, match="^device=tpu: unknown.*choose from cpu, cuda, auto$"):
        find_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_device("auto") == find_device("cuda") == "cuda"


@needs_cuda
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_gpu_gives_the_same_numbers_up_to_rounding(encoding):
    run = config(f"encoding={encoding}", "protocol.steps=5")
    here, there = execute(run), execute(run, device="cuda")
    torch.testing.assert_close(
        torch.tensor(here.metrics.to_numpy()), torch.tensor(there.metrics.to_numpy()), rtol=1e-3, atol=1e-4
    )
    assert there.environment["device"] != "cpu"


def test_computing_leaves_the_number_of_threads_as_it_was():
    before = torch.get_num_threads()
    with workers.one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_stack_is_built_from_each_runs_own_seed():
    configs = [config("encoding=learned", f"seed={seed}") for seed in (4, 9)]
    together = build_models(configs)
    for index, run in enumerate(configs):
        for name, values in build_models([run]).named_parameters():
            assert torch.equal(values[0], together.get_parameter(name)[index])
