"""A model that does not fit in memory is tried; an ensemble that would not fit is split."""

from types import SimpleNamespace

import pytest
import torch

from support.configs import config
from synthlab.training.ensembles import plan_ensembles

GIB = 2**30


@pytest.mark.parametrize(("gib", "sizes"), [(80, [3]), (0.0015, [1, 1, 1])])
def test_an_ensemble_that_would_not_fit_on_a_gpu_is_split(monkeypatch, gib, sizes):
    configs = [config(f"seed={seed}", "protocol.batch=100") for seed in range(3)]
    memory = SimpleNamespace(total_memory=int(gib * GIB))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: memory)
    assert [len(each) for each in plan_ensembles(configs, 1, "cuda")] == sizes


def test_a_model_that_does_not_fit_fails_in_one_line(invoke, quick):
    outcome = invoke("synthlab", *quick, "model.width=16384", "model.depth=1000", "model.mlp_ratio=64.0")
    assert (outcome.status, outcome.out) == (1, "")
    assert "MemoryError: there is not enough memory (" in outcome.err
    assert "Traceback" not in outcome.err
