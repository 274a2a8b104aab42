"""Relative maps and sparse patterns in models of Transformers."""

import math
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from support import language_models, wing
from support.models import build, turned_products
from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS
from synthlab.models.encodings.base import Dims

pytestmark = pytest.mark.slow

NEAR = {
    "self_extend": {"window": 8, "group": 4},
    "rerope": {"window": 6, "trained": 8, "scaled": True},
    "leaky_rerope": {"window": 6, "factor": 2.5, "trained": 8, "scaled": True},
    "dual_chunk": {"trained": 16},
}
LONG = 24
PLAIN = {"window": 100, "trained": 100, "scaled": True}  # of ReRoPE: neither far nor scaled within 24 tokens
texts = partial(language_models.texts, length=LONG)


def tiny(kind: str = "Llama", **others):
    return language_models.tiny(kind, scale=8.0, **others).eval()


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}


@pytest.mark.parametrize(("kind", "rope"), [*((kind, {}) for kind in language_models.KINDS), ("Llama", YARN)])
@torch.no_grad()
def test_a_window_longer_than_the_text_is_the_model_itself(kind, rope):
    model = tiny(kind, **rope)
    before = model(texts(2)).logits
    mapped = wing.relative_maps.with_map(model, "rerope", **PLAIN)
    close(mapped(texts(2)).logits, before)
    assert torch.equal(model(texts(2)).logits, before)  # the model given is left alone
    assert mapped.state_dict().keys() == model.state_dict().keys()
    assert all(mine is theirs for mine, theirs in zip(mapped.parameters(), model.parameters(), strict=True))


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("kind", ["Llama", "GPTNeoX"])
@torch.no_grad()
def test_logits_equal_rotations_one_by_one(kind, name):
    model = tiny(kind)
    mapped = wing.relative_maps.with_map(model, name, **NEAR[name])
    rotary, width = model.base_model.rotary_emb, 32
    q, k = torch.randn(2, 2, 4, LONG, width, generator=torch.Generator().manual_seed(0))
    place = torch.arange(LONG)
    pairs = len(rotary.inv_freq)
    assert pairs == (16 if kind == "Llama" else 8)
    encoding = build(name, Dims(2 * pairs, 1), **NEAR[name])
    encoding.frequencies = lambda width, device=None: rotary.inv_freq.double()
    relative = encoding.distance(place.view(1, 1, -1, 1), place.view(1, 1, 1, -1).expand(1, 1, LONG, -1))
    scale = encoding.sharpen(place.view(1, 1, -1))
    scaled = q if scale is None else q * scale.view(-1, 1).float()
    halves = [torch.stack((v[..., :pairs], v[..., pairs : 2 * pairs]), -1).flatten(-2) for v in (scaled, k)]
    expected = turned_products(encoding, *halves, relative[0]) + scaled[..., 2 * pairs :] @ k[..., 2 * pairs :].mT
    found = mapped.base_model.rotary_emb.logits(q, k, place[None])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("kind", language_models.KINDS)
@torch.no_grad()
def test_a_cache_and_padding_leave_the_answers_as_they_are(kind, name):
    mapped = wing.relative_maps.with_map(tiny(kind), name, **NEAR[name])
    x = texts(2)
    whole = mapped(x).logits
    assert not torch.allclose(whole, tiny(kind)(x).logits, atol=0.05)
    prompt = mapped(x[:, :13], use_cache=True)
    later = mapped(x[:, 13:22], past_key_values=prompt.past_key_values)
    last = [mapped(x[:, at : at + 1], past_key_values=prompt.past_key_values).logits for at in (22, 23)]
    close(torch.cat((prompt.logits, later.logits, *last), 1), whole)
    padded = torch.cat((torch.zeros(2, 3, dtype=torch.long), x), 1)
    mask = (torch.arange(LONG + 3) >= 3).long().expand(2, -1)
    places = (mask.cumsum(-1) - 1).clamp(min=0)
    close(mapped(padded, attention_mask=mask, position_ids=places).logits[:, 3:], whole)
    close(mapped(padded, attention_mask=mask).logits[:, 3:], whole)
    prompt = mapped(padded[:, :16], attention_mask=mask[:, :16], use_cache=True)
    later = mapped(padded[:, 16:], attention_mask=mask, past_key_values=prompt.past_key_values)
    close(torch.cat((prompt.logits, later.logits), 1)[:, 3:], whole)
    options = {"max_new_tokens": 6, "do_sample": False}
    with_cache, without = (mapped.generate(x, use_cache=use, **options) for use in (True, False))
    assert torch.equal(with_cache, without)
    assert torch.equal(mapped.generate(padded, attention_mask=mask, **options)[:, 3:], with_cache)


@pytest.mark.parametrize(
    ("kind", "name", "arguments", "message"),
    [
        ("gpt2", "rerope", PLAIN, "model=gpt2: must be of a type among llama, mistral, qwen2, gpt_neox"),
        ("Llama", "yarn", {}, "name=yarn: must be a map of relative positions: self_extend, rerope"),
    ],
)
def test_what_does_not_fit_is_refused(kind, name, arguments, message):
    made = SimpleNamespace(config=SimpleNamespace(model_type=kind)) if kind == "gpt2" else tiny(kind)
    with pytest.raises(InputError, match=message):
        wing.relative_maps.with_map(made, name, **arguments)


def test_caches_that_cannot_be_served_are_refused():
    mapped = wing.relative_maps.with_map(tiny(), "rerope", **PLAIN)
    with pytest.raises(InputError, match="past_key_values=StaticCache: must be a cache that grows"):
        mapped.generate(texts(2), max_new_tokens=2, cache_implementation="static")
    cached = mapped(texts(2), use_cache=True).past_key_values
    with pytest.raises(InputError, match="position_ids: must be consecutive with a cache"):
        mapped(texts(2, length=2), past_key_values=cached, position_ids=torch.tensor([[24, 26]]))
    gap = (torch.arange(LONG + 2) != LONG - 1).long().expand(2, -1)
    with pytest.raises(InputError, match="attention_mask: is padded on the right, with a cache"):
        mapped(texts(2, length=2), past_key_values=cached, attention_mask=gap)
    dynamic = tiny(rope_type="dynamic", factor=2.0)
    with pytest.raises(InputError, match="model: has rope_type=dynamic; must have frequencies"):
        wing.relative_maps.with_map(dynamic, "rerope", **PLAIN)


@pytest.mark.parametrize("kernel", ["eager", "sdpa", "mapped"])
@pytest.mark.parametrize("name", ["shifted", "rolled"])
def test_patterns_apply_in_training_alone(kernel, name):
    model = tiny(layers=1)
    if kernel == "mapped":
        model = wing.relative_maps.with_map(model, "rerope", **PLAIN)
    else:
        model.set_attn_implementation(kernel)
    plain = model(texts(2)).logits.detach()
    handle = wing.sparse_attention.sparse_in_training(model, name, groups=4)
    assert torch.equal(model(texts(2)).logits, plain)
    model.train()
    h = model.get_input_embeddings()(texts(1)).detach().requires_grad_()
    answers = model(inputs_embeds=h).logits[0].sum(-1)
    gradients = [torch.autograd.grad(answer, h, retain_graph=True)[0][0].abs().sum(-1) > 0 for answer in answers]
    expected = PATTERNS.build({"name": name, "groups": 4}).mask(4, LONG).any(0)
    assert torch.equal(torch.stack(gradients), expected)
    assert torch.equal(model(texts(2)).logits, model(input_ids=texts(2), attention_mask=torch.ones(2, LONG)).logits)
    handle.remove()
    close(model(texts(2)).logits, plain)


@torch.no_grad()
def test_attention_by_the_pattern_equals_that_of_groups():
    model = tiny()
    attention = model.base_model.layers[0].self_attn
    q, k, v = torch.randn(3, 2, 2, LONG, 32, generator=torch.Generator().manual_seed(0))
    mask = wing.sparse_attention.pattern_mask(model, PATTERNS.build({"name": "rolled", "groups": 4}), 2, LONG)
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    attention.num_key_value_groups = 1
    found = sdpa_attention_forward(attention, q, k, v, mask, scaling=32**-0.5)[0].transpose(1, 2)
    groups = [each[:, 1:].roll(-3, 2).unflatten(2, (4, 6)) for each in (q, k, v)]
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    weights = (groups[0] @ groups[1].mT / math.sqrt(32)).masked_fill(future, -math.inf).softmax(-1)
    torch.testing.assert_close(found[:, 1:], (weights @ groups[2]).flatten(2, 3).roll(3, 2))


def test_patterns_that_do_not_fit_a_call_are_refused():
    model = tiny().train()
    handle = wing.sparse_attention.sparse_in_training(model, "shifted", groups=4)
    with pytest.raises(InputError, match="pattern.groups=4: must divide a window of 12 tokens"):
        model(texts(2, length=12))
    with pytest.raises(InputError, match="attention_mask: has zeros; must be all ones"):
        model(texts(2), attention_mask=(torch.arange(LONG) > 2).long().expand(2, -1))
    model.config._attn_implementation_internal = "flex_attention"
    with pytest.raises(InputError, match="attn_implementation=flex_attention: accepts no mask for each head"):
        model(texts(2))
    handle.remove()
