"""Runs side by side have the records that each has alone, to the last bit."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.configs import EXPLOSIVE, config, small, small_sequences
from synthlab.models.encodings import ENCODINGS
from synthlab.numbers.family import NUMBERS, build_models
from synthlab.runs.composition import to_overrides
from synthlab.training.ensembles import ensemble_size, plan_ensembles
from synthlab.training.execution import execute, execute_together, is_exact, split_inexact


def content(record) -> tuple:
    tables = (record.metrics, record.training, record.outputs)
    return record.config, record.diverged_at, *(None if table is None else table.to_csv() for table in tables)


MIXED = [
    ("task=length", "outrep=rsqrt", "seed=3"),
    ("task=mean", "protocol.lr=0.02"),
    ("task=sum", "inputs=uniform_count", "length_distribution=proportional"),
    ("task=length", "protocol.lr=1e-4", "test_length=12", "evaluation.sequences=7"),
    ("task=length", "outrep=log", "seed=1", "weight_seed=7", "data_seed=8", "test_seed=9"),
]
# RoPE, learned positions, T5 and one map of relative positions will do each time.
FREQUENCIES = ("pi", "ntk", "eabf", "yarn", "dynamic_ntk", "longrope", "clex")
LIKE_OTHERS = (
    *(*FREQUENCIES, "sinusoidal", "alibi", "leaky_rerope", "self_extend", "dual_chunk", "partial_rope"),
    *("p_rope", "xpos", "hard_alibi", "kerple", "fire", "readout"),
)
SHAPES = [
    *((f"encoding={name}",) for name in ENCODINGS if name not in LIKE_OTHERS),
    *(pytest.param((f"encoding={name}",), marks=pytest.mark.slow) for name in LIKE_OTHERS),
    pytest.param(("model.depth=2", "encoding=alibi"), marks=pytest.mark.slow),
    ("model.width=36", "protocol.batch=3", "train_length=7"),
    ("model.attention=linear", "model.norm=post"),
    pytest.param(("train_length=30", "test_length=40", "protocol.batch=5"), marks=pytest.mark.slow),
    ("model=linear",),
    ("protocol.optimizer=adamw", "protocol.weight_decay=2.0", "protocol.clip=0.1", "protocol.schedule=linear"),
    ("curriculum.start=2", "curriculum.until=1.0"),
    pytest.param(("encoding=randomized", "curriculum.start=2"), marks=pytest.mark.slow),
    ("encoding.name=support.user_classes:Idle",),  # parameters that are frozen or unused
]


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_runs_in_an_ensemble_equal_runs_alone(shape):
    is_encoding = shape[0].startswith("encoding=")  # two runs will do
    configs = [config(*shape, *own) for own in (MIXED[::3] if is_encoding else MIXED)]
    assert is_exact(configs)
    for record, run in zip(execute_together(configs), configs, strict=True):
        assert record.status == "finished"
        assert content(record) == content(execute(run))


LOOPED = "model.depth=2 model.width=16 model.heads=4 model.loops=2"
LAYERS = "encoding=by_layer encoding.layers=[t5,{name:window,width:3,inner:{name:alibi}}]"
PAIRS = [
    *((config, f"{LOOPED} model.mixer={name}") for name in ("gru", "mamba", "stack_rnn")),
    (config, f"{LOOPED} model.convolution=canon"),
    *((config, f"task=length outrep={name}") for name in ("box_cox", "monotone", "chosen")),
    *((small, words) for words in (f"{LOOPED} model.mixer=lstm", f"{LAYERS} model.depth=2")),
    (small_sequences, f"{LOOPED} model.mixer={{name:delta,negative:true}}"),
    (small_sequences, "task=copy encoding=learned positions=coupled"),
    *(
        pytest.param(run, words, marks=pytest.mark.slow)
        for run, words in (
            (small_sequences, "task=tomita"),
            (small_sequences, "encoding=learned positions=offset"),
            (config, f"{LOOPED} model.mixer=min_gru"),
            (config, f"{LOOPED} model.mixer=rg_lru"),
        )
    ),
]


@pytest.mark.parametrize(("run", "words"), PAIRS)
def test_two_runs_of_any_family_equal_each_alone(run, words):
    configs = [run(*words.split(), f"seed={seed}") for seed in range(2)]
    assert is_exact(configs)
    for record, one in zip(execute_together(configs), configs, strict=True):
        assert content(record) == content(execute(one))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    encoding=st.sampled_from(["nope", "learned", "alibi", "t5"]),
    head=st.sampled_from([1, 2, 3, 4, 5, 8, 10]),
    heads=st.integers(1, 4),
    ratio=st.sampled_from([0.03, 0.5, 1.5, 4.0]),
    depth=st.integers(1, 2),
    batch=st.integers(1, 9),
    length=st.integers(1, 30),
    runs=st.integers(2, 7),
)
def test_no_record_depends_on_the_plan(encoding, head, heads, ratio, depth, batch, length, runs):
    model = {"width": head * heads, "heads": heads, "mlp_ratio": ratio, "depth": depth}
    lengths = (f"train_length={length}", f"test_length={length + 3}", f"protocol.batch={batch}", "protocol.steps=6")
    shape = (f"encoding={encoding}", *to_overrides({"model": model}), *lengths, "task=length", "outrep=rsqrt")
    configs = [config(*shape, f"seed={seed}") for seed in range(runs)]
    for ensemble in (part for whole in plan_ensembles(configs, 1) for part in split_inexact(whole)):
        assert [content(record) for record in execute_together(ensemble)] == [content(execute(run)) for run in ensemble]


def test_an_inexact_ensemble_is_split(monkeypatch):
    configs = [config(f"seed={seed}") for seed in range(3)]
    assert [len(part) for part in split_inexact(configs)] == [3]
    monkeypatch.setattr("synthlab.training.execution.is_exact", lambda configs: False)
    assert [len(part) for part in split_inexact(configs)] == [1, 1, 1]
    assert [len(part) for part in split_inexact(configs, "cuda")] == [3]
    assert split_inexact([]) == []


def test_a_difference_in_the_last_bit_is_noticed(monkeypatch):
    configs = [config("encoding=learned", f"seed={seed}") for seed in range(3)]

    def built(given):
        ensemble = build_models(given)
        last = ensemble.token_embeddings.data[-1, 0]
        if len(given) > 1:
            last[0] = last[0].nextafter(torch.tensor(9.0))
        return ensemble

    assert is_exact(configs)
    monkeypatch.setattr("synthlab.numbers.family.NUMBERS", replace(NUMBERS, build_models=built))
    monkeypatch.setattr("synthlab.training.execution._exact", {})
    assert not is_exact(configs)


def test_runs_of_two_shapes_are_no_ensemble():
    with pytest.raises(ValueError, match="2 runs differ in shape"):
        execute_together([config(), config("model.depth=2")])


def test_a_run_that_diverges_in_an_ensemble_is_recorded_as_alone():
    configs = [config(*EXPLOSIVE, "task=length", f"protocol.lr={lr}") for lr in ("1e-3", "1e30", "1e-4")]
    together = execute_together(configs)
    assert [record.status for record in together] == ["finished", "diverged", "finished"]
    for record, run in zip(together, configs, strict=True):
        assert content(record) == content(execute(run))


def test_ensembles_hold_runs_of_one_shape_and_lose_none():
    grid = [(n, w, lr) for n in ("nope", "rope") for w in (16, 32) for lr in ("1e-3", "1e-2")]
    configs = [
        config(f"encoding={n}", f"model.width={w}", f"protocol.lr={lr}", f"seed={seed}")
        for n, w, lr in grid
        for seed in range(3)
    ]
    for count in (1, 2, 3, 16):
        plan = plan_ensembles(configs, count)
        assert sorted(run.id for ensemble in plan for run in ensemble) == sorted(run.id for run in configs)
        assert all(len({run.shape for run in ensemble}) == 1 for ensemble in plan)
    assert len(plan_ensembles(configs, 1)) == 4


def test_every_worker_has_an_ensemble():
    configs = [config(f"seed={seed}") for seed in range(7)]
    assert ensemble_size(configs[0]) > 7
    assert [len(plan_ensembles(configs, count)) for count in (1, 2, 3, 7, 20)] == [1, 2, 3, 7, 7]
    assert [len(ensemble) for ensemble in plan_ensembles(configs, 2)] == [4, 3]


def test_large_runs_share_less_and_long_ones_come_first():
    large = [config("protocol.batch=2000", f"seed={seed}") for seed in range(3)]
    small = [config(f"seed={seed}") for seed in range(3)]
    assert [len(ensemble) for ensemble in plan_ensembles([*small, *large], 1)] == [1, 1, 1, 3]
    long = config("protocol.steps=5000")
    assert plan_ensembles([*small, long], 1)[0] == [long]


@pytest.mark.parametrize(("gib", "sizes"), [(80, [3]), (0.0015, [1, 1, 1])])
def test_an_ensemble_that_would_not_fit_on_a_gpu_is_split(monkeypatch, gib, sizes):
    configs = [config(f"seed={seed}", "protocol.batch=100") for seed in range(3)]
    memory = SimpleNamespace(total_memory=int(gib * 2**30))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: memory)
    assert [len(each) for each in plan_ensembles(configs, 1, "cuda")] == sizes


def test_a_model_that_does_not_fit_fails_in_one_line(invoke, quick):
    outcome = invoke("synthlab", *quick, "model.width=16384", "model.depth=1000", "model.mlp_ratio=64.0")
    assert (outcome.status, outcome.out) == (1, "")
    assert "MemoryError: there is not enough memory;" in outcome.err
    assert "Traceback" not in outcome.err
