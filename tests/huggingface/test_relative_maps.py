"""On tiny models with random weights. Nothing of Transformers is imported before a test runs: that takes seconds."""

import math
from types import SimpleNamespace

import pytest
import torch

from support.models import build, turned_products
from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS
from synthlab.huggingface.sparse_attention import pattern_mask, sparse_in_training
from synthlab.models.encodings.base import Dims

pytestmark = pytest.mark.slow

TYPES = ("llama", "mistral", "qwen2", "gpt_neox")
NEAR = {
    "self_extend": {"window": 8, "group": 4},
    "rerope": {"window": 6, "trained": 8, "scaled": True},
    "leaky_rerope": {"window": 6, "factor": 2.5, "trained": 8, "scaled": True},
    "dual_chunk": {"trained": 16},
}
LONG = 24
PLAIN = {"window": 100, "trained": 100, "scaled": True}  # of ReRoPE: neither far nor scaled within 24 tokens


@pytest.fixture(scope="module")
def hf() -> SimpleNamespace:
    transformers = pytest.importorskip("transformers")
    from synthlab.huggingface.relative_maps import with_map

    return SimpleNamespace(lm=transformers, with_map=with_map)


def tiny(hf, kind: str, layers: int = 2, **more) -> torch.nn.Module:
    """Llama, Mistral and Qwen2 with two heads for each key head, GPT-NeoX with a part of the dimensions rotated."""
    torch.manual_seed(0)
    common = {"vocab_size": 31, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": layers, "num_attention_heads": 4}
    own = {} if kind == "gpt_neox" else {"num_key_value_heads": 2}
    made = hf.lm.AutoModelForCausalLM.from_config(hf.lm.AutoConfig.for_model(kind, **common, **sizes, **own, **more))
    with torch.no_grad():  # as drawn, all answers are nearly uniform, and agree whatever is wrong
        for parameter in made.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
    return made.eval()


def texts(rows: int = 2, length: int = LONG) -> torch.Tensor:
    return torch.randint(1, 31, (rows, length), generator=torch.Generator().manual_seed(1))


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}


@pytest.mark.parametrize(("kind", "rope"), [*((kind, {}) for kind in TYPES), ("llama", {"rope_parameters": YARN})])
@torch.no_grad()
def test_a_window_longer_than_the_text_is_the_model_itself(hf, kind, rope):
    model = tiny(hf, kind, **rope)
    before = model(texts()).logits
    mapped = hf.with_map(model, "rerope", **PLAIN)
    close(mapped(texts()).logits, before)
    assert torch.equal(model(texts()).logits, before)  # the model given is left alone
    assert mapped.state_dict().keys() == model.state_dict().keys()
    assert all(mine is theirs for mine, theirs in zip(mapped.parameters(), model.parameters(), strict=True))


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("kind", ["llama", "gpt_neox"])
@torch.no_grad()
def test_logits_of_attention_equal_those_of_rotations_one_by_one(hf, kind, name):
    model = tiny(hf, kind, layers=1)
    mapped = hf.with_map(model, name, **NEAR[name])
    rotary, width = model.base_model.rotary_emb, 8
    q, k = torch.randn(2, 2, 4, LONG, width, generator=torch.Generator().manual_seed(0))
    place = torch.arange(LONG)
    pairs = len(rotary.inv_freq)
    assert pairs == (4 if kind == "llama" else 1)
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
@pytest.mark.parametrize("kind", TYPES)
@torch.no_grad()
def test_a_cache_and_padding_leave_the_answers_as_they_are(hf, kind, name):
    mapped = hf.with_map(tiny(hf, kind), name, **NEAR[name])
    x = texts()
    whole = mapped(x).logits
    assert not torch.allclose(whole, tiny(hf, kind)(x).logits, atol=0.05)
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


def test_no_answer_depends_on_a_later_token(hf):
    mapped = hf.with_map(tiny(hf, "llama"), "dual_chunk", **NEAR["dual_chunk"])
    h = mapped.get_input_embeddings()(texts(1)).detach().requires_grad_()
    answers = mapped(inputs_embeds=h).logits[0].sum(-1)
    gradients = [torch.autograd.grad(answer, h, retain_graph=True)[0][0].abs().sum(-1) > 0 for answer in answers]
    assert torch.equal(torch.stack(gradients), torch.ones(LONG, LONG, dtype=torch.bool).tril())


@pytest.mark.parametrize(
    ("kind", "name", "arguments", "message"),
    [
        ("gpt2", "rerope", PLAIN, "model=gpt2: must be of a type among llama, mistral, qwen2, gpt_neox"),
        ("llama", "yarn", {}, "name=yarn: must be a map of relative positions: self_extend, rerope"),
        ("llama", "rerope", PLAIN | {"base": 1e4}, "base=10000.0: must be left out"),
        ("llama", "self_extend", {"window": 5, "group": 2}, "window=5: must be a multiple of encoding.group=2"),
        ("llama", "self_extend", {"window": 5}, "encoding.group: missing; must be given"),
    ],
)
def test_what_does_not_fit_is_refused(hf, kind, name, arguments, message):
    made = SimpleNamespace(config=SimpleNamespace(model_type=kind)) if kind == "gpt2" else tiny(hf, kind)
    with pytest.raises(InputError, match=message):
        hf.with_map(made, name, **arguments)


def test_caches_and_frequencies_that_cannot_be_served_are_refused(hf):
    mapped = hf.with_map(tiny(hf, "llama"), "rerope", **PLAIN)
    with pytest.raises(InputError, match="past_key_values=StaticCache: must be a cache that grows"):
        mapped.generate(texts(), max_new_tokens=2, cache_implementation="static")
    cached = mapped(texts(), use_cache=True).past_key_values
    with pytest.raises(InputError, match="position_ids: must be consecutive beside a cache"):
        mapped(texts(2, 2), past_key_values=cached, position_ids=torch.tensor([[24, 26]]))
    gap = (torch.arange(LONG + 2) != LONG - 1).long().expand(2, -1)
    with pytest.raises(InputError, match="attention_mask: has padding behind tokens, beside a cache"):
        mapped(texts(2, 2), past_key_values=cached, attention_mask=gap)
    dynamic = tiny(hf, "llama", rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0})
    with pytest.raises(InputError, match="model: has rope_type=dynamic; must have frequencies"):
        hf.with_map(dynamic, "rerope", **PLAIN)


@pytest.mark.parametrize("kernel", ["eager", "sdpa", "mapped"])
@pytest.mark.parametrize("name", ["shifted", "rolled"])
def test_a_model_attends_by_the_pattern_in_training_alone(hf, kernel, name):
    model = tiny(hf, "llama", layers=1)
    if kernel == "mapped":
        model = hf.with_map(model, "rerope", **PLAIN)
    else:
        model.set_attn_implementation(kernel)
    plain = model(texts()).logits.detach()
    handle = sparse_in_training(model, name, groups=4)
    assert torch.equal(model(texts()).logits, plain)
    model.train()
    h = model.get_input_embeddings()(texts(1)).detach().requires_grad_()
    answers = model(inputs_embeds=h).logits[0].sum(-1)
    gradients = [torch.autograd.grad(answer, h, retain_graph=True)[0][0].abs().sum(-1) > 0 for answer in answers]
    expected = PATTERNS.build({"name": name, "groups": 4}).mask(4, LONG).any(0)
    assert torch.equal(torch.stack(gradients), expected)
    assert torch.equal(model(texts()).logits, model(input_ids=texts(), attention_mask=torch.ones(2, LONG)).logits)
    handle.remove()
    close(model(texts()).logits, plain)


@torch.no_grad()
def test_attention_by_the_pattern_equals_that_of_groups(hf):
    model = tiny(hf, "llama", layers=1)
    attention = model.base_model.layers[0].self_attn
    q, k, v = torch.randn(3, 2, 4, LONG, 8, generator=torch.Generator().manual_seed(0))
    mask = pattern_mask(model, PATTERNS.build({"name": "rolled", "groups": 4}), 2, LONG)
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    attention.num_key_value_groups = 1
    found = sdpa_attention_forward(attention, q, k, v, mask, scaling=8**-0.5)[0].transpose(1, 2)
    groups = [each[:, 2:].roll(-3, 2).unflatten(2, (4, 6)) for each in (q, k, v)]
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    weights = (groups[0] @ groups[1].mT / math.sqrt(8)).masked_fill(future, -math.inf).softmax(-1)
    torch.testing.assert_close(found[:, 2:], (weights @ groups[2]).flatten(2, 3).roll(3, 2))


def test_patterns_that_do_not_fit_a_call_are_refused(hf):
    model = tiny(hf, "llama").train()
    handle = sparse_in_training(model, "shifted", groups=4)
    with pytest.raises(InputError, match="pattern.groups=4: must divide a window of 12 tokens"):
        model(texts(2, 12))
    with pytest.raises(InputError, match="attention_mask: has zeros; must be all ones"):
        model(texts(), attention_mask=(torch.arange(LONG) > 2).long().expand(2, -1))
    with pytest.raises(InputError, match="attention_mask: has zeros; must be all ones"):
        model(texts(), (torch.arange(LONG) > 2).long().expand(2, -1))
    turned = torch.arange(LONG).flip(0)[None].expand(2, -1)
    ones = torch.ones(2, LONG)
    assert torch.equal(model(texts(), ones, turned).logits, model(texts(), position_ids=turned).logits)
    assert not torch.equal(model(texts(), ones, turned).logits, model(texts()).logits)
    model.config._attn_implementation_internal = "flex_attention"
    with pytest.raises(InputError, match="attn_implementation=flex_attention: takes no mask for each head"):
        model(texts())
    handle.remove()
    with pytest.raises(InputError, match="pattern=turned: unknown; choose from full, shifted, rolled"):
        sparse_in_training(model, "turned")
