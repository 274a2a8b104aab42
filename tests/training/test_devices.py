import pytest
import torch

from support.configs import config
from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.training.devices import find_device
from synthlab.training.execution import execute

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


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
