"""The bridge to Hugging Face: the same logits, in a folder and out of it."""

import json
import logging
import math
import pickle
import re
import shutil
import struct
import sys

import pytest
import torch

import synthlab
from support import hf
from support.configs import config, small
from support.records import opened
from synthlab.errors import InputError
from synthlab.longshort.regularizer import next_token_loss
from synthlab.models.encodings import ENCODINGS

pytestmark = pytest.mark.slow

LOCATING = ("fox", "threshold")
FIXED = [name for name, each in ENCODINGS.items() if not each.draws_positions and name not in LOCATING]
EXTENDED = ["extension=yarn", "finetune.steps=2"]
MODELS = [
    *([f"encoding={name}", "model.depth=2"] for name in FIXED),
    *([f"model.norm={norm}", "encoding=t5"] for norm in ("post", "none")),
    ["model.attention=linear", "encoding=alibi"],
    ["encoding=rope", *EXTENDED],
    ["extension=clex", "positions=clex", "finetune.steps=2"],
]
SIZE = 20  # tokens of a text
GREEDY = {"max_new_tokens": 8, "do_sample": False}


def to_huggingface(model):
    return hf.bridge.to_huggingface(model)


def load(folder):
    assert hf.bridge  # by which Transformers knows the lab's models
    return hf.transformers.AutoModelForCausalLM.from_pretrained(folder)


def trained(*overrides: str) -> synthlab.TrainedModel:
    return opened(small(*overrides))


def texts(rows: int = 3, length: int = SIZE) -> torch.Tensor:
    return torch.randint(256, (rows, length), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def rope():
    return trained("encoding=rope", "model.depth=2")


@pytest.fixture(scope="module")
def folder(rope, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    to_huggingface(rope).save_pretrained(path)
    return path


@pytest.mark.parametrize("overrides", MODELS, ids=" ".join)
def test_logits_are_the_lab_s(overrides, tmp_path):
    model, x = trained(*overrides), texts()
    with torch.no_grad():
        made, expected = to_huggingface(model), model.module(x[None])[0]
        assert torch.equal(made(x).logits, expected)
        assert torch.equal(made(x, use_cache=False).logits, expected)
        made.save_pretrained(tmp_path)
        again = load(tmp_path)
        assert torch.equal(again(x).logits, expected)

        cache, parts = None, []
        for part in x.split([7, 8, 1, 1, 3], 1) if again.config.use_cache else [x]:
            output = again(part, past_key_values=cache)
            cache, parts = output.past_key_values, [*parts, output.logits]
        torch.testing.assert_close(torch.cat(parts, 1), expected, rtol=1e-5, atol=1e-5)

        before, behind = 3, 2  # of padding, which is no token of the vocabulary
        padded = torch.full((3, before + SIZE + behind), 999)
        padded[:, before:-behind] = x
        output = again(padded, attention_mask=(padded != 999).long())
        assert output.logits.isfinite().all()
        torch.testing.assert_close(output.logits[:, before:-behind], expected, rtol=1e-5, atol=1e-5)


def continued(model: synthlab.TrainedModel, x: torch.Tensor) -> torch.Tensor:
    """The likeliest eight tokens after the texts, a pass over all for each."""
    for _ in range(8):
        x = torch.cat((x, model.predict(x).output.argmax(-1, keepdim=True)), 1)
    return x


@pytest.mark.parametrize("overrides", [["encoding=learned"], ["encoding=alibi"], ["encoding=rope", *EXTENDED]])
def test_generation_needs_no_cache_and_heeds_no_padding(overrides):
    model, x = trained(*overrides), texts(length=9)
    made, expected = to_huggingface(model), continued(model, x)
    for cached in (True, False):
        assert torch.equal(made.generate(x, use_cache=cached, **GREEDY), expected)
    padding = torch.zeros(3, 4, dtype=torch.long)
    padded, mask = torch.cat((padding, x), 1), torch.cat((padding, torch.ones_like(x)), 1)
    assert torch.equal(made.generate(padded, attention_mask=mask, **GREEDY)[:, 4:], expected)
    beams = [made.generate(x, use_cache=cached, num_beams=3, **GREEDY) for cached in (True, False)]
    assert torch.equal(*beams)


@pytest.mark.parametrize("extension", ["clex", "dynamic_ntk", "longrope"])
def test_generation_with_frequencies_of_the_length(extension, tmp_path):
    model, x = trained(f"extension={extension}"), texts(length=5)  # trained on 8 tokens
    to_huggingface(model).save_pretrained(tmp_path)
    made = load(tmp_path)
    assert torch.equal(made.generate(x, **GREEDY), continued(model, x))
    line = f"^use_cache=true: must be false; encoding={extension} depends on the length of the text$"
    with pytest.raises(InputError, match=line):
        made.generate(x, use_cache=True, **GREEDY)


def test_the_loss_is_the_lab_s_and_reaches_every_weight(rope):
    made, x = to_huggingface(rope).train(), texts()
    output = made(x, labels=x)
    assert output.past_key_values is None
    assert output.loss.item() == pytest.approx(next_token_loss(rope.module(x[None]), x[None]).item(), rel=1e-6)
    output.loss.backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
    assert all(parameter.grad is None for parameter in rope.module.parameters())  # its weights are its own


def changed(folder, target, **settings):
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | settings))
    return target


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"encoding": {"name": "support.user_classes:Idle"}}, "encoding=support.user_classes:Idle: must be an"),
        ({"encoding": {"name": "randomized", "span": 99, "inner": {"name": "a:B"}}}, "encoding=randomized: must be an"),
        (
            {"encoding": {"name": "learned", "table": 9, "scale": 1.0}},
            "model=.*: lacks the weights .*encoding.vectors; ",
        ),
        ({"depth": 3}, "model=.*: lacks the weights transformer.blocks.2"),
        ({"attn_implementation": "kernels-community/flash-attn"}, "config.attn_implementation: unknown key"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(folder, tmp_path, caplog, monkeypatch, settings, line):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)  # so that caplog has its lines
    sys.modules.pop("support.user_classes", None)
    with pytest.raises(InputError, match=f"^{line}") as caught:
        load(changed(folder, tmp_path / "other", **settings))
    assert str(caught.value).isprintable()
    assert "LOAD REPORT" not in caplog.text
    assert "support.user_classes" not in sys.modules


def test_pickled_weights_are_not_read(rope, folder, tmp_path):
    other = changed(folder, tmp_path / "other")
    (other / "model.safetensors").unlink()
    torch.save(to_huggingface(rope).state_dict(), other / "pytorch_model.bin")
    with pytest.raises(InputError, match=f"^model={other}: cannot be opened"):
        load(other)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.safetensors", lambda _: pickle.dumps({"a": 1})),
        ("model.safetensors", lambda whole: whole[:-4] + struct.pack("<f", math.nan)),
        ("config.json", lambda _: b"[" * 100_000),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(folder, tmp_path, name, damage):
    other = changed(folder, tmp_path / "other")
    (other / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(InputError, match=f"^model={other}: ") as caught:
        hf.bridge.SynthlabForCausalLM.from_pretrained(other)
    assert str(caught.value).isprintable()


def test_arguments_that_do_not_fit_are_refused():
    made, x = to_huggingface(trained("encoding=learned")), texts()
    room = made.transformer.encoding.vectors.shape[1]
    for call, arguments, line in [
        (made, {"position_ids": x}, "position_ids: "),
        (made, {"attention_mask": torch.ones(3, 9)}, "attention_mask: "),
        (made, {"input_ids": texts(1, room + 1)}, f"input_ids: one text has {room + 1} tokens; encoding=learned takes"),
        (made.generate, GREEDY | {"cache_implementation": "static"}, "past_key_values=StaticCache: must be a cache"),
    ]:
        with pytest.raises(InputError, match=f"^{line}.*$"):
            call(**{"input_ids": x} | arguments)


def test_models_that_do_not_fit_are_refused():
    for model, line in [
        (trained("encoding=randomized"), "encoding=randomized: "),
        (opened(config()), "model=TrainedNumbers: "),
    ]:
        with pytest.raises(InputError, match=f"^{re.escape(line)}.*$"):
            to_huggingface(model)


def test_a_text_s_tokens_are_its_bytes(tmp_path):
    hf.bridge.byte_tokenizer().save_pretrained(tmp_path)
    every = "".join(map(chr, [*range(0x500), *range(0x3000, 0x3100), 0x1F600]))
    for tokenizer in (hf.bridge.byte_tokenizer(), hf.transformers.AutoTokenizer.from_pretrained(tmp_path)):
        for text in (every, "a <pad>\n\n  b\r\n\t", "Ā", ""):
            tokens = tokenizer(text)["input_ids"]
            assert tokens == list(text.encode())
            assert tokenizer.decode(tokens) == text
        padded = tokenizer(["ab", "é"], padding=True)
        assert padded["attention_mask"] == [[1, 1], [1, 1]]
        assert tokenizer(["ab", "b"], padding=True)["attention_mask"] == [[1, 1], [0, 1]]
