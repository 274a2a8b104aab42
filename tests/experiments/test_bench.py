"""``make bench`` at its quickest, and what it measures against."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context

import pytest
import torch

from experiments.bench import __main__ as bench
from experiments.bench import probes
from experiments.bench.baselines import CausalBaseline
from synthlab.regression.construction import build_models

PROMISED = (
    *("training", "testing", "drawing", "figures", "peak memory", "sweep", "start-up", "GPU", "classroom"),
    *("plain PyTorch loop", "every context length"),
)


@pytest.mark.parametrize("overrides", [[], bench.LARGE])
def test_the_plain_causal_model_reads_out_what_the_packed_one_does(overrides):
    config = probes.compose_run(*overrides)
    stack = build_models([config, config.with_seeds({"seed": 1})])
    x = torch.randint(0, 2, (2, 5, 7), generator=torch.Generator().manual_seed(0))
    packed = stack(x)
    for length in (1, 4, 7):
        plain = CausalBaseline(stack)(x[0, :, :length])
        torch.testing.assert_close(plain, packed[0, :, length - 1], rtol=1e-4, atol=1e-5)


@pytest.fixture
def kept_processes(monkeypatch) -> Iterator[None]:
    """Probes share processes, one for each core: a new one for each probe would import torch for seconds."""
    with ProcessPoolExecutor(bench.CORES, mp_context=get_context("spawn")) as pool:
        monkeypatch.setattr(probes, "ProcessPoolExecutor", lambda *_, **__: nullcontext(pool))
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("kept_processes")
def test_the_bench_measures_everything_it_promises(monkeypatch, capsys, tmp_path):
    pytest.importorskip("x_transformers", reason="the extra bench is not installed")
    monkeypatch.setattr(sys, "argv", ["bench", "quick"])
    monkeypatch.chdir(tmp_path)
    bench.main()
    report = json.loads((tmp_path / "results" / "bench" / "bench.json").read_text())
    printed = capsys.readouterr().out
    measures = [row["measure"] for row in report["rows"]]
    assert len(set(measures)) == len(measures)
    for promised in PROMISED:
        assert any(promised in measure for measure in measures), promised
    for row in report["rows"]:
        assert f"{row['measure']}: {row['value']}" in printed
        assert row["value"] != "not measured" or "no GPU" in row["details"]
