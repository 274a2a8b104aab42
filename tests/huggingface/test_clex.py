"""CLEX in models of Transformers."""

import pytest
import torch

from support import hf
from support.language_models import KINDS, LENGTH, texts, tiny
from synthlab.errors import InputError

pytestmark = pytest.mark.slow


def build(kind: str, **parameters) -> torch.nn.Module:
    return tiny(kind, scale=5.0, **parameters).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_it_is_the_model_with_the_base_of_ntk(kind):
    width = 16 if kind == "GPTNeoX" else 32
    extended, plain = hf.clex.with_clex(build(kind), factor=4), build(kind)
    with torch.no_grad():
        for length, t in ((LENGTH, 1), (LENGTH + 1, 2), (3 * LENGTH, 3), (5 * LENGTH, 4)):
            x = texts(2, length)
            other = build(kind, rope_theta=10_000.0 * (2 * t - 1) ** (width / (width - 2)))
            torch.testing.assert_close(extended(x).logits, other(x).logits, rtol=1e-4, atol=1e-4)
            if t > 1:
                assert not torch.allclose(extended(x).logits, plain(x).logits, rtol=1e-2, atol=1e-2)


def test_its_weights_come_back_from_a_folder(tmp_path):
    model = hf.clex.with_clex(build("Llama"), factor=4)
    for name, values in model.named_parameters():
        if ".rotary_emb.clex." in name:
            torch.nn.init.normal_(values, std=0.3)
    model.save_pretrained(tmp_path)
    plain = type(model).from_pretrained(tmp_path).eval()
    with pytest.raises(InputError, match=r"^weights=.*: has {'down': \[1, .*} of CLEX; must have {'up': \[1, "):
        hf.clex.with_clex(plain, factor=4, hidden=2, weights=tmp_path)
    again, x = hf.clex.with_clex(plain, factor=4, weights=tmp_path), texts(2, 3 * LENGTH)
    with torch.no_grad():
        assert torch.equal(again(x).logits, model(x).logits)
        assert not torch.allclose(again(x).logits, hf.clex.with_clex(build("Llama"), factor=4)(x).logits)


def test_generation_rotates_every_key_anew():
    model, x = hf.clex.with_clex(build("Llama"), factor=4), texts(2, LENGTH - 2)
    expected = x
    with torch.no_grad():
        for _ in range(8):
            expected = torch.cat((expected, model(expected).logits[:, -1:].argmax(-1)), 1)
    greedy = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    assert torch.equal(model.generate(x, attention_mask=torch.ones_like(x), **greedy), expected)
    padded = torch.cat((torch.zeros(2, 3, dtype=torch.long), x), 1)
    mask = torch.cat((torch.zeros(2, 3, dtype=torch.long), torch.ones_like(x)), 1)
    assert torch.equal(model.generate(padded, attention_mask=mask, **greedy)[:, 3:], expected)
    with pytest.raises(InputError, match="position_ids: begin at 14; must begin at 0, as the frequencies of CLEX"):
        model.generate(x, attention_mask=torch.ones_like(x), use_cache=True, **greedy)


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_makes_no_text_longer(side):
    model, x = hf.clex.with_clex(build("Llama"), factor=4), texts(1, LENGTH)
    alone, padding = model(x).logits, torch.zeros(1, 2 * LENGTH, dtype=torch.long)
    order = (padding, x) if side == "left" else (x, padding)
    masked = (torch.zeros_like(padding), torch.ones_like(x)) if side == "left" else (torch.ones_like(x), padding)
    tokens, mask = torch.cat(order, 1), torch.cat(masked, 1)
    for found in (model(tokens, attention_mask=mask), model(tokens, mask)):
        torch.testing.assert_close(found.logits[mask.bool()], alone[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "settings", "factor", "line"),
    [
        ("GPT2", {}, 4, "model=GPT2LMHeadModel: "),
        ("GPTNeoX", {"partial_rotary_factor": 0.0625}, 4, "model=GPTNeoXForCausalLM: rotates 2 "),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(kind, settings, factor, line):
    with pytest.raises(InputError, match=f"^{line}"):
        hf.clex.with_clex(build(kind, **settings), factor=factor)
