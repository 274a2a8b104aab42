"""The command that extends a model of Hugging Face: with a tiny random Llama and made texts, on the CPU."""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from support import hf
from support.language_models import LENGTH, pretrained, tiny
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

QUICK = ["training.steps=2", "training.accumulate=1", "training.batch=2", "evaluation.texts=2", "device=cpu"]
QUICK += ["training.save_every=1", "dtype=float32"]
RECIPE = ["recipe=none", "factor=2", "training.lr=1e-3", "training.warmup=0.0"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> SimpleNamespace:
    """A pretrained model, texts, and what is tested here."""
    for package in ("transformers", "accelerate", "peft", "bitsandbytes"):
        pytest.importorskip(package)
    from synthlab.huggingface.extension import models
    from synthlab.huggingface.extension.settings import MethodSettings
    from synthlab.huggingface.extension.texts import measure_losses

    folder = tmp_path_factory.mktemp("pretrained")
    (folder / "texts").mkdir()
    draw = random.Random(0)
    for name in "ab":
        (folder / "texts" / f"{name}.txt").write_text("".join(draw.choice("abc ") for _ in range(3000)))
    model = pretrained(folder / "model")
    tiny(scale=5.0).save_pretrained(model)  # whose answers depend on positions
    given = {"model": model, "texts": str(folder / "texts")}
    return SimpleNamespace(**given, losses=measure_losses, load=models.load, models=models, Method=MethodSettings)


@pytest.fixture
def extend(lab, tmp_path, invoke, monkeypatch):
    """Run the command; the last words win."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the variable is read once, at import

    def call(*words: str, output: str = "out"):
        given = [f"pretrained={lab.model}", f"texts={lab.texts}", f"output={tmp_path / output}"]
        by_key = {word.split("=")[0]: word for word in [*given, *QUICK, *RECIPE, *words]}
        return invoke("synthlab", "extend", *by_key.values())

    return call


def logits(model) -> torch.Tensor:
    x = torch.arange(2 * LENGTH)[None] % 7
    with torch.no_grad():
        return model.eval()(input_ids=x, use_cache=False).logits


def check(lab, outcome, output: Path) -> dict:
    """The command said what it should, and what it saved is what it measured."""
    assert outcome.status == 0, outcome.err
    kept = json.loads((output / "losses.json").read_text())
    lines = outcome.out.splitlines()
    for line, when in zip(lines, ("before", "after"), strict=False):
        numbers = kept[when]
        within, beyond = (f"{numbers[name]:.4f}" for name in ("within", "beyond"))
        assert line == f"{when} fine-tuning: loss {within} within {LENGTH} tokens, {beyond} beyond"
    assert lines[-1] == f"written: {output / 'model'}"
    assert all(math.isfinite(number) for when in kept.values() for number in when.values())
    return kept


@pytest.mark.parametrize(
    "words",
    [
        "method=plain positions=offset",
        "method=ntk positions=randpos",
        "method=yarn positions=cream positions.text=1",
        "method=dynamic positions=pose",
        "method=longrope positions=pose positions.text=5",
        "recipe=cream window=48",
        "recipe=clex alignment.alpha=0.1",
        "recipe=longqlora adapters.rank=2 dtype=bfloat16",
        "adapters=lora adapters.base=nf4 adapters.rank=2 merge=false",
        "adapters=lora adapters.layers=[q_proj] adapters.train=[norms] merge=false method=clex positions=clex",
    ],
)
def test_every_method_and_recipe_trains_and_loads(lab, extend, tmp_path, words):
    outcome = extend(*words.split())
    kept = check(lab, outcome, tmp_path / "out")
    assert kept["before"] != kept["after"]
    model = lab.load(tmp_path / "out")
    assert logits(model).shape[1] == 2 * LENGTH
    if "float" in words:
        return
    from synthlab.huggingface.extension.texts import read_tokens

    tokens = read_tokens(lab.texts, hf.loading.open_tokenizer("pretrained", lab.model))
    texts = tokens[-round(len(tokens) * 0.1) :][: 4 * LENGTH].view(2, 2 * LENGTH)
    found = lab.losses(model, texts, LENGTH, torch.float32)
    assert found.within == pytest.approx(kept["after"]["within"], abs=1e-4)
    assert found.beyond == pytest.approx(kept["after"]["beyond"], abs=1e-4)


@pytest.mark.parametrize(
    "words",
    [
        "positions=cream alignment.alpha=0.1",
        "method=clex positions=clex",
        "adapters=lora adapters.base=nf4 adapters.rank=2 positions=randpos merge=false",
    ],
)
def test_a_resumed_training_equals_an_uninterrupted_one(lab, extend, tmp_path, words):
    given = [*words.split(), "training.steps=4", "training.save_every=2", "training.accumulate=2"]
    check(lab, extend(*given, output="whole"), tmp_path / "whole")

    class Stopped(Exception):
        pass

    from synthlab.huggingface.extension import training

    def stop(self, args, state, control, **others):
        if state.global_step == 3:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training._PrintProgress, "on_step_end", stop)
        with pytest.raises(Stopped):
            extend(*given, output="parts")
    refused = extend(*given, output="parts")
    line = f"error: output={tmp_path / 'parts'}: is begun; give resume=true or a new folder"
    assert (refused.status, refused.err.splitlines()[-1]) == (2, line)
    other = extend(*given, "resume=true", "training.lr=1.0", output="parts")
    assert other.status == 2
    assert other.err.splitlines()[-1].startswith("error: training={")
    (tmp_path / "parts" / "checkpoints" / "checkpoint-9").mkdir()  # not written to its end
    check(lab, extend(*given, "resume=true", output="parts"), tmp_path / "parts")
    whole, parts = (lab.load(tmp_path / name).state_dict() for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name in whole:
        assert torch.equal(whole[name], parts[name]), name
    finished = extend(*given, "resume=true", output="parts")
    assert finished.err.splitlines()[-1].endswith("already has a finished extension; give another folder")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("pretrained=nowhere", "pretrained=nowhere: "),
        ("output=/dev/null", "output=/dev/null: "),
        ("factor=100 window=16", "texts: have 600 tokens for tests; must have at least 1600"),
        ("method=longrope method.long=[2.0]", "method.long=[2.0]: "),
        ("method=clex positions=pose factor=1", "method=clex: "),
        ("positions=cream positions.text=1 alignment.alpha=0.1", "alignment.alpha=0.1: "),
        ("adapters=lora adapters.rank=100000", "adapters.rank=100000: "),
    ],
)
def test_refusals_leave_nothing(lab, extend, tmp_path, words, line):
    outcome = extend(*words.split())
    assert outcome.status == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"error: {line}"), last
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "out").exists()


@torch.no_grad()
def test_dynamic_frequencies_are_those_of_the_text(lab):
    method, plain = lab.Method(name="dynamic"), {"rope_type": "default", "rope_theta": 10_000.0}
    model = tiny(scale=5.0, **lab.models.rope_parameters(method, plain, 32, 4, LENGTH))
    model = lab.models.apply_method(method, model, 4, LENGTH, 0).eval()
    long, middle, short = (torch.arange(length)[None] % 7 for length in (4 * LENGTH, 2 * LENGTH, LENGTH))
    alone = model(middle).logits
    model(long)
    assert torch.equal(model(middle).logits, alone)
    model(long)
    assert torch.equal(model(short).logits, tiny(scale=5.0).eval()(short).logits)


def test_loss_within_and_beyond_the_context(lab):
    model, texts = tiny(scale=5.0).eval(), torch.arange(3 * 40).view(3, 40) % 11
    found = lab.losses(model.train(), texts, LENGTH, torch.float32)
    assert model.training
    with torch.no_grad():
        all_losses = torch.nn.functional.cross_entropy(
            model.eval()(texts).logits[:, :-1].transpose(1, 2), texts[:, 1:], reduction="none"
        )
    assert found.within == pytest.approx(all_losses[:, : LENGTH - 1].mean().item(), abs=1e-5)
    assert found.beyond == pytest.approx(all_losses[:, LENGTH - 1 :].mean().item(), abs=1e-5)
    assert lab.losses(model, texts[:, :LENGTH], LENGTH, torch.float32).beyond is None


def test_damaged_files_are_refused(lab, extend, tmp_path):
    def refused(out: Path, name: str, content: bytes, what: str) -> None:
        whole = (out / name).read_bytes()
        (out / name).write_bytes(content)
        with pytest.raises(InputError, match=f"^output={out}/(model: )?{what}.*$"):
            lab.load(out)
        (out / name).write_bytes(whole)

    assert extend("method=pi", output="whole").status == 0
    assert extend("adapters=lora", "adapters.rank=2", "merge=false", output="adapters").status == 0
    refused(tmp_path / "whole", "settings.json", b"[" * 100_000, r"settings\.json: cannot be read \(")
    refused(tmp_path / "whole", "model/model.safetensors", b"", r"cannot be opened \(")
    refused(tmp_path / "adapters", "model/adapter_model.safetensors", b"\xff" * 64, r"cannot be opened \(")
    named = json.loads((tmp_path / "whole" / "settings.json").read_text()) | {"method": {"name": "elsewhere:Method"}}
    (tmp_path / "whole" / "settings.json").write_text(json.dumps(named))
    with pytest.raises(InputError, match="method.name=elsewhere:Method: must be"):
        lab.load(tmp_path / "whole")
