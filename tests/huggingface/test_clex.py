"""CLEX in models of Transformers: on tiny models with random weights. Nothing of Transformers is imported before a test
runs."""

from types import SimpleNamespace

import pytest
import torch

from support.language_models import KINDS, LENGTH, texts, tiny
from synthlab.errors import InputError
from synthlab.positions.samplers import ClexPositions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lm() -> SimpleNamespace:
    """Transformers, and what is tested here."""
    transformers = pytest.importorskip("transformers")
    from synthlab.huggingface.clex import with_clex

    return SimpleNamespace(hf=transformers, with_clex=with_clex)


def build(kind: str, **parameters) -> torch.nn.Module:
    return tiny(kind, scale=5.0, **parameters).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_it_is_the_model_with_the_base_of_ntk(lm, kind):
    width = 16 if kind == "GPTNeoX" else 32
    extended, plain = lm.with_clex(build(kind), factor=4), build(kind)
    with torch.no_grad():
        for length, t in ((LENGTH, 1), (LENGTH + 1, 2), (3 * LENGTH, 3), (5 * LENGTH, 4)):
            x = texts(2, length)
            other = build(kind, rope_theta=10_000.0 * (2 * t - 1) ** (width / (width - 2)))
            torch.testing.assert_close(extended(x).logits, other(x).logits, rtol=1e-4, atol=1e-4)
            if t > 1:
                assert not torch.allclose(extended(x).logits, plain(x).logits, rtol=1e-2, atol=1e-2)


@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true:UserWarning")  # Trainer's default, on a CPU
@pytest.mark.parametrize("kind", KINDS)
def test_a_trainer_trains_it_and_its_weights_come_back_from_a_folder(lm, kind, tmp_path):
    from synthlab.huggingface.collator import PositionCollator

    model = lm.with_clex(build(kind), factor=4)
    before = {name: values.detach().clone() for name, values in model.named_parameters()}
    assert len([name for name in before if ".rotary_emb.clex." in name]) == 2
    x = texts(8, LENGTH)
    collator = PositionCollator(ClexPositions(factor=4), seed=0)
    rows = [{"input_ids": text, "labels": text} for text in x]
    quick = {"learning_rate": 1e-3, "max_steps": 3, "per_device_train_batch_size": 8, "save_strategy": "no"}
    args = lm.hf.TrainingArguments(str(tmp_path / "run"), report_to=[], disable_tqdm=True, use_cpu=True, **quick)
    lm.hf.Trainer(model, args, train_dataset=rows, data_collator=collator, callbacks=[collator]).train()
    for name, values in model.named_parameters():
        if ".rotary_emb.clex." in name:
            assert not torch.equal(values, before[name]), name

    model.save_pretrained(tmp_path / "saved")
    plain = type(model).from_pretrained(tmp_path / "saved").eval()
    with pytest.raises(InputError, match=r"^weights=.*: has {'down': \[1, .*} of CLEX; must have {'up': \[1, "):
        lm.with_clex(plain, factor=4, hidden=2, weights=tmp_path / "saved")
    again = lm.with_clex(plain, factor=4, weights=tmp_path / "saved")
    with torch.no_grad():
        x = texts(2, 3 * LENGTH)
        assert torch.equal(again(x).logits, model.eval()(x).logits)


def test_generation_rotates_every_key_by_the_frequencies_of_the_whole_text(lm):
    model, x = lm.with_clex(build("Llama"), factor=4), texts(2, LENGTH - 2)
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
def test_padding_makes_no_text_longer(lm, side):
    model, x = lm.with_clex(build("Llama"), factor=4), texts(1, LENGTH)
    alone, padding = model(x).logits, torch.zeros(1, 2 * LENGTH, dtype=torch.long)
    order = (padding, x) if side == "left" else (x, padding)
    masked = (torch.zeros_like(padding), torch.ones_like(x)) if side == "left" else (torch.ones_like(x), padding)
    tokens, mask = torch.cat(order, 1), torch.cat(masked, 1)
    for found in (model(tokens, attention_mask=mask), model(tokens, mask)):
        torch.testing.assert_close(found.logits[mask.bool()], alone[0], rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_is_refused_in_a_line(lm):
    gpt2 = lm.hf.GPT2LMHeadModel(lm.hf.GPT2Config(vocab_size=11, n_embd=16, n_layer=1, n_head=2))
    with pytest.raises(InputError, match="^model=GPT2LMHeadModel: has rotary_emb=NoneType; must be of type default"):
        lm.with_clex(gpt2, factor=4)
    with pytest.raises(InputError, match="^model=LlamaForCausalLM: has rotary_emb=linear; must be of type default"):
        lm.with_clex(build("Llama", rope_type="linear", factor=2.0), factor=4)
    with pytest.raises(InputError, match="^model=LlamaForCausalLM: has rotary_emb=CLEXRotaryEmbedding; must be of"):
        lm.with_clex(lm.with_clex(build("Llama"), factor=4), factor=4)
    with pytest.raises(InputError, match="^model=GPTNeoXForCausalLM: rotates 2 dimensions of a head; CLEX needs 4 or"):
        lm.with_clex(build("GPTNeoX", partial_rotary_factor=0.0625), factor=4)
    with pytest.raises(InputError, match="^clex.factor=0: must be greater than or equal to 1"):
        lm.with_clex(build("Llama"), factor=0)
