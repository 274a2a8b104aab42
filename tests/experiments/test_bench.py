"""The bench: each way of timing at its quickest, and the data of its cell of associative recall."""

import json
import lzma

import pytest
import torch

from experiments.bench import gpu, mqar
from synthlab.models.language_model import LanguageModel
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.training.execution import initialize

SMALL = ["task=length", "model.width=4", "test_length=12", "evaluation.sequences=2"]
TEXT = ["task=text", "model.width=16", "test_length=70", "evaluation.sequences=2"]


def test_rows_of_a_gpu(tmp_path, monkeypatch):
    """On a CPU, where nothing is captured: every row, by the same code."""
    settings = [resolve(compose([*words, f"seed={seed}"])).model_dump() for words in (SMALL, TEXT) for seed in (0, 1)]
    path = tmp_path / "runs.jsonl.xz"
    path.write_bytes(lzma.compress("\n".join(json.dumps(["id", each]) for each in settings).encode()))
    monkeypatch.setattr(gpu, "REFERENCE", path)
    monkeypatch.setattr(gpu.graphs, "PAYS", 0.0)  # set back afterwards
    rows = list(gpu.measure("cpu", {"small": gpu.Shape(SMALL, (1, 2), (2,), 2)}, 6, 1, 1))
    assert {row.measure for row in rows} == {
        "GPU: small, 1 at a time",
        "GPU: small, 2 at a time",
        "GPU: small, 2 at a time, compiled",
        "GPU: small, 2 at a time in each of 1 processes",
        "GPU: the reference's 2 runs of the family numbers, by 1 processes",
        "GPU: the reference's 2 runs of the family language, by 1 processes",
    }
    for row in rows[:3]:
        found = row.numbers
        assert found["models_an_hour"] == pytest.approx(3600 * found["models"] / (2000 * found["step"]), abs=0.5)
        assert found["testing"] == pytest.approx(found["test"] / (2000 * found["step"]), abs=1e-4)
    for row in rows[4:]:
        assert row.numbers["training"] > 0
        assert row.numbers["beginning_and_testing"] > 0


def test_recalls():
    texts = mqar.draw_recalls(2000, torch.Generator().manual_seed(0))
    keys, values = texts.tokens[:, 0:8:2], texts.tokens[:, 1:8:2]
    assert keys.max() < mqar.KEYS <= values.min()
    assert values.max() < mqar.FILLER
    for parts in (keys, values, texts.queries):
        assert all(len(set(row)) == mqar.PAIRS for row in parts.tolist())
    assert torch.equal(texts.tokens.gather(1, texts.queries), keys)
    assert torch.equal(texts.values, values)
    assert (texts.tokens == mqar.FILLER).sum(1).eq(mqar.TOKENS - 3 * mqar.PAIRS).all()
    # The first gap has the law 1/(g + 1)^0.99 over 28 gaps: by hand, 1/4.00 and 1/8.0 for the first two.
    gaps = (texts.queries[:, 0] - 2 * mqar.PAIRS) / 2
    assert [(gaps == gap).double().mean().item() for gap in (0, 1)] == pytest.approx([0.25, 0.126], abs=0.03)


def test_logits_at_queries_are_those_of_the_whole_text():
    config = resolve(compose(["task=mqar", "task.keys=4095", "task.values=4096", *mqar.MODEL]))
    model, texts = initialize([config]), mqar.draw_recalls(3, torch.Generator().manual_seed(0))
    assert isinstance(model, LanguageModel)
    logits = model(texts.tokens[None])[0]
    at_queries = logits.gather(1, texts.queries[..., None].expand(-1, -1, logits.shape[-1]))
    torch.testing.assert_close(mqar.compute_logits(model, texts), at_queries, rtol=1e-4, atol=1e-4)
