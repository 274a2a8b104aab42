"""An extension whose files are damaged ends in one line."""

import shutil
from pathlib import Path

import pytest

from support.language_models import pretrained
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

QUICK = [
    "training.steps=1",
    "training.accumulate=1",
    "training.batch=1",
    "evaluation.texts=1",
    "device=cpu",
    "dtype=float32",
]
QUICK += ["recipe=none", "factor=2", "training.lr=1e-3", "training.warmup=0.0"]


@pytest.fixture
def extend(tmp_path, invoke, monkeypatch):
    """Run the command on a tiny model and a made text."""
    for package in ("transformers", "accelerate", "peft"):
        pytest.importorskip(package)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "text.txt").write_text("a b c " * 600)
    pretrained(tmp_path / "pretrained")

    def call(*words: str, output: str = "out", model: str = "pretrained"):
        given = [f"pretrained={tmp_path / model}", f"texts={tmp_path / 'text.txt'}", f"output={tmp_path / output}"]
        return invoke("context_extension", *given, *QUICK, *words)

    return call


def refused(folder: Path, name: str, content: bytes, what: str) -> None:
    """It is not opened while a file of it has this content."""
    from experiments.context_extension.models import load

    file = folder / "model" / name
    whole = file.read_bytes()
    file.write_bytes(content)
    with pytest.raises(InputError, match=f"^output={folder}/(model: )?{what}") as caught:
        load(folder)
    assert len(caught.value.lines) == 1
    file.write_bytes(whole)


def test_damaged_files_are_refused_in_one_line(extend, tmp_path):
    from safetensors.torch import load_file, save_file

    out = tmp_path / "out"
    outcome = extend("method=pi")
    assert outcome.status == 0, outcome.err
    weights = out / "model" / "model.safetensors"
    refused(out, weights.name, weights.read_bytes()[:100], r"cannot be opened \(")
    refused(out, "config.json", b"{", r"cannot be opened \(")
    refused(out, "../settings.json", b"[" * 100_000, r"settings\.json: cannot be read \(")
    fewer = load_file(weights)
    fewer.pop("model.norm.weight")
    save_file(fewer, tmp_path / "fewer", metadata={"format": "pt"})
    lost = r"lacks the weights model\.norm\.weight; must have all"
    refused(out, weights.name, (tmp_path / "fewer").read_bytes(), lost)


def test_damaged_adapters_are_refused_in_one_line(extend, tmp_path):
    assert extend("adapters=lora", "adapters.rank=2", "merge=false").status == 0
    refused(tmp_path / "out", "adapter_model.safetensors", b"\xff" * 64, r"cannot be opened \(")


def test_a_damaged_pretrained_model_is_refused_in_one_line(extend, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(tmp_path / "pretrained", damaged)
    (damaged / "model.safetensors").write_bytes(b"")
    outcome = extend(model="damaged")
    assert outcome.status == 2
    assert f"error: pretrained={damaged}: cannot be opened (" in outcome.err
    assert not (tmp_path / "out" / "model").exists()
