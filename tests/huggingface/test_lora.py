"""Adapters of low rank on a 4-bit base, in models of Transformers, by peft and bitsandbytes."""

import pytest
import torch

from support import hf
from support.language_models import KINDS, LENGTH, texts, tiny
from synthlab.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def bnb():
    pytest.importorskip("peft")
    return pytest.importorskip("bitsandbytes")


@pytest.mark.parametrize("kind", KINDS)
def test_linear_layers_but_the_head_have_adapters(kind):
    model = tiny(kind)
    names = {name for name, each in model.named_modules() if isinstance(each, torch.nn.Linear)}
    head = next(name for name, each in model.named_modules() if each is model.get_output_embeddings())
    adapted = hf.lora.with_lora(model, rank=3)
    found = {name.split(".lora_A")[0] for name, _ in adapted.named_parameters() if ".lora_A." in name}
    assert {name.removeprefix("base_model.model.") for name in found} == names - {head}
    assert all(".lora_" in name for name, each in adapted.named_parameters() if each.requires_grad)
    assert {min(each.shape) for each in adapted.parameters() if each.requires_grad} == {3}


@torch.no_grad()
def test_it_adds_alpha_by_rank_times_b_a():
    x, plain = texts(2, LENGTH), tiny(scale=10.0).eval()
    model = hf.lora.with_lora(tiny(scale=10.0), rank=2, alpha=6.0, layers=["q_proj"]).eval()
    assert torch.equal(model(input_ids=x).logits, plain(x).logits)
    for layer, other in zip(model.get_base_model().model.layers, plain.model.layers, strict=True):
        part = layer.self_attn.q_proj
        a, b = part.lora_A["default"].weight, part.lora_B["default"].weight
        b.normal_(generator=torch.Generator().manual_seed(1))
        other.self_attn.q_proj.weight += 6.0 / 2 * b @ a
    torch.testing.assert_close(model(input_ids=x).logits, plain(x).logits, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(hf.lora.merged(model)(x).logits, plain(x).logits, rtol=1e-3, atol=1e-3)


def in_four_bits(folder, model: torch.nn.Module) -> torch.nn.Module:
    model.save_pretrained(folder)
    auto, config = hf.transformers.AutoModelForCausalLM, hf.lora.four_bits(torch.float32)
    return auto.from_pretrained(folder, quantization_config=config, device_map={"": "cpu"})


@pytest.mark.parametrize("base", ["full", "nf4"])
def test_merged_model_is_the_trained_one(base, tmp_path):
    x, plain = texts(4, LENGTH), tiny(scale=5.0)
    given = in_four_bits(tmp_path / "plain", plain) if base == "nf4" else plain
    model = hf.lora.with_lora(given, rank=4, dropout=0.0, train=["embeddings", "norms"]).train()
    trained = " ".join(name for name, each in model.named_parameters() if each.requires_grad)
    assert all(f".{name}." in trained for name in ("embed_tokens", "norm", "input_layernorm", "q_proj", "down_proj"))
    optimizer, losses = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append(model(input_ids=x, labels=x).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0] - 0.1
    with torch.no_grad():
        expected = model.eval()(input_ids=x).logits
        plain = hf.lora.merged(model)
        torch.testing.assert_close(plain(x).logits, expected, rtol=1e-4, atol=1e-4)
        plain.save_pretrained(tmp_path / "merged")
        again = hf.transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
        torch.testing.assert_close(again(x).logits, expected, rtol=1e-4, atol=1e-4)
    assert {type(each) for name, each in again.named_modules() if name.endswith("_proj")} == {torch.nn.Linear}


def test_what_does_not_fit_is_refused_in_a_line(monkeypatch, tmp_path):
    model = tiny()
    with pytest.raises(InputError, match=r"^adapters.layers=q_porj: .*$"):
        hf.lora.with_lora(model, layers=["q_porj"])
    model.config.intermediate_size = 96  # whose rows bitsandbytes dequantizes wrongly on a CPU
    odd = in_four_bits(tmp_path, type(model)(model.config))
    with pytest.raises(InputError, match=r"^adapters.base=nf4: .*down_proj has 96 inputs; must be a multiple of 64.*$"):
        hf.lora.with_lora(odd)
    monkeypatch.setattr("synthlab.errors.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"^adapters.base=nf4: needs bitsandbytes; pip install -e '.\[extend\]'$"):
        hf.lora.four_bits(torch.float32)
