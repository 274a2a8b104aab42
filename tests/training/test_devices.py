"""Devices: what is refused, and that a GPU gives the numbers of a CPU up to rounding, where there is one."""

import os

import pytest
import torch
from pandas.testing import assert_frame_equal
from torch.utils._python_dispatch import TorchDispatchMode

from support.configs import config, small, small_sequences
from synthlab import rng
from synthlab.errors import InputError
from synthlab.language.languages import TASKS as LANGUAGES
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.encodings.rope import RoPE
from synthlab.numbers.outrep import OUTREPS
from synthlab.positions.samplers import SAMPLERS
from synthlab.sequences.tasks import TASKS as SEQUENCES
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import count_workers
from synthlab.training import devices, graphs
from synthlab.training.devices import count_cores, find_device
from synthlab.training.execution import execute, execute_together, initialize
from synthlab.training.weights import load_weights

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
EXTENSIONS = sorted(name for name in ENCODINGS if issubclass(ENCODINGS.find(name), RoPE))
ALIGNED = ("alignment.windows=2", "alignment.alpha=0.1")
AGAIN = ("finetune.steps=2", "finetune.lr=1e-3")
RUNS = {
    **{f"number {name}": (config, f"encoding={name}") for name in ENCODINGS},
    **{f"map {name}": (config, "task=length", f"outrep={name}") for name in OUTREPS},
    "linear attention": (config, "model=linear"),
    **{f"language {name}": (small, f"encoding={name}") for name in ENCODINGS},
    **{f"task {name}": (small, f"task={name}") for name in LANGUAGES},
    **{f"extension {name}": (small, f"extension={name}") for name in EXTENSIONS},
    **{f"tuned {name}": (small, f"extension={name}", "positions=randpos", *AGAIN) for name in EXTENSIONS},
    **{f"positions {name}": (small, "extension=pi", f"positions={name}", *AGAIN) for name in SAMPLERS},
    **{f"aligned {name}": (small, f"encoding={name}", *ALIGNED) for name in ("rope", "alibi", "t5", "randomized")},
    "lora": (small, "extension=pi", "lora=lora", *AGAIN),
    "longqlora": (small, "extension=pi", "lora=longqlora", "pattern=shifted", *AGAIN),
    **{
        f"sequences {name}": (small_sequences, "task=copy", f"encoding={name}")
        for name in ENCODINGS
        if not issubclass(ENCODINGS.find(name), LengthRoPE)  # a row has texts of many lengths
    },
    **{f"task {name}": (small_sequences, f"task={name}") for name in SEQUENCES},
    "curriculum": (small_sequences, "task=copy", "curriculum.start=1"),
    "early stop": (small_sequences, "task=copy", "stop.exact=0.5"),
}
gpu_runs = pytest.mark.parametrize("name", RUNS if torch.cuda.is_available() else ["curriculum"])
# On a CPU what trains more than what another name tests, or an encoding that is like another, is slow.
LIKE_OTHERS = (
    *("ntk", "eabf", "yarn", "dynamic_ntk", "longrope", "sinusoidal", "alibi", "leaky_rerope", "partial_rope"),
    *("p_rope", "xpos", "pope", "kerple", "fire", "window", "dape"),
)
# Of encodings of other models and of sequence tasks one of each sort.
SORTS = ("rope", "learned", "t5", "fox", "randomized", "copy", "parity", "mqar", "flip_flop", "dyck", "mixture")
ONE_OF_A_SORT = ("sequences", "language", *(f"task {name}" for name in SEQUENCES))
QUICK = [
    name
    for name in RUNS
    if not name.endswith(LIKE_OTHERS) and not name.startswith(("tuned", "positions", "lora", "longqlora"))
    if name.endswith(SORTS) or not name.startswith(ONE_OF_A_SORT)
]
cpu_runs = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RUNS]
)


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto") == find_device("cpu") == "cpu"
    with pytest.raises(InputError, match="^device=cuda: there is none on this machine; choose cpu or auto$"):
        find_device("cuda")
    with pytest.raises(InputError, match="^device=tpu: unknown.*choose from cpu, cuda, auto$"):
        find_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_device("auto") == find_device("cuda") == "cuda"


def test_cores_are_those_that_the_process_may_use(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 5, 7}, raising=False)
    monkeypatch.setattr(devices, "CPU_QUOTA", tmp_path / "cpu.max")  # not there: a machine without cgroups
    assert count_cores() == 6
    for quota, cores in {"max 100000": 6, "150000 100000": 2, "50000 100000": 1, "900000 100000": 6}.items():
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
        assert count_cores() == cores
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert count_cores() == count_workers(None) == 3


def make(name: str, *more: str):
    make, *overrides = RUNS[name]
    return make(*overrides, *more)


def agree(here: Record, there: Record) -> None:
    for table in ("training", "metrics"):
        losses = (getattr(record, table).filter(regex="length|step|loss|error") for record in (here, there))
        torch.testing.assert_close(*(torch.tensor(each.to_numpy(float)) for each in losses), rtol=1e-3, atol=1e-4)


@pytest.fixture(autouse=True)
def as_in_long_runs(monkeypatch):
    """Capture steps after the first, and draw together for few models."""
    monkeypatch.setattr(graphs, "WARM", 1)
    monkeypatch.setattr(rng, "TOGETHER", 2)


class Copies(TorchDispatchMode):
    """Raises an error for a tensor made of Python's numbers, which would be copied to a GPU."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func is not torch.ops.aten.lift_fresh.default, f"a copy of {args}"
        return func(*args, **(kwargs or {}))


@cpu_runs
def test_a_step_copies_nothing_to_the_device_but_its_inputs(name):
    """A CUDA graph can hold no copy."""
    run = make(name)
    objective = run.load_family().make_objective(run.load_family().build_models([run]), [run])
    if objective.is_static:
        inputs = objective.draw()
        objective(*inputs).sum().backward()  # constants are made once
        with Copies():
            objective(*inputs).sum().backward()


@needs_cuda
@gpu_runs
def test_a_gpu_gives_the_numbers_of_a_cpu_up_to_rounding(name):
    there = execute(make(name), device="cuda")
    assert there.environment["device"] != "cpu"
    agree(execute(make(name)), there)


@cpu_runs
def test_models_are_tested_together_as_each_alone(name):
    configs = [make(name, f"seed={seed}") for seed in range(3)]
    family = configs[0].load_family()
    ensemble = family.build_models(configs)
    together = family.evaluate_models(ensemble, [0, 2], [configs[0], configs[2]])
    for index, tables in zip([0, 2], together, strict=True):
        for table, alone in zip(tables, family.evaluate_models(ensemble, [index], [configs[index]])[0], strict=True):
            if table is not None:
                assert_frame_equal(table, alone, rtol=1e-4, atol=1e-6)


@needs_cuda
@gpu_runs
def test_a_gpu_trains_an_ensemble_as_it_trains_each_alone(name):
    configs = [make(name, f"seed={seed}") for seed in range(3)]
    for together, one in zip(execute_together(configs, device="cuda"), configs, strict=True):
        agree(execute(one, device="cuda"), together)


@needs_cuda
def test_a_sweep_on_a_gpu_keeps_its_records(invoke, tmp_path):
    quick = ("protocol.steps=3", "evaluation.sequences=4", "workers=2", "device=cuda", f"results={tmp_path}")
    assert invoke("synthlab", "sweep", "task=mean,copy", "seed=0,1", *quick).status == 0
    store = Store(tmp_path)
    devices = [store.read(identity).environment["device"] for identity in store.ids()]
    assert len(devices) == 4
    assert "cpu" not in devices


@needs_cuda
def test_checkpoints_of_a_gpu_are_those_of_a_cpu():
    """They give the same logits, which do not depend on the bias of keys, whose gradient is rounding alone."""
    run, text = make("task copy", "protocol.record_every=1"), torch.tensor([[[0, 1, 1, 0]]])
    logits = []
    for device in ("cpu", "cuda"):
        record, model = execute_together([run], device=device, keep=(1, run.steps))[0], initialize([run])
        for step in (1, run.steps):
            load_weights(model, record.weights[step](), device)
            logits.append(model(text))
    here, there = torch.stack(logits[:2]), torch.stack(logits[2:])
    torch.testing.assert_close(here, there, rtol=1e-3, atol=1e-4)
    assert not here[0].allclose(here[1])
