"""Sparse patterns in models of Transformers."""

import math
from functools import partial

import pytest
import torch

from support import hf, language_models
from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS

pytestmark = pytest.mark.slow

LONG = 24
texts = partial(language_models.texts, length=LONG)


def tiny(kind: str = "Llama", **others):
    return language_models.tiny(kind, scale=8.0, **others).eval()


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["shifted", "rolled"])
def test_patterns_apply_in_training_alone(kernel, name):
    model = tiny(layers=1)
    model.set_attn_implementation(kernel)
    plain = model(texts(2)).logits.detach()
    handle = hf.sparse_attention.sparse_in_training(model, name, groups=4)
    assert torch.equal(model(texts(2)).logits, plain)
    model.train()
    h = model.get_input_embeddings()(texts(1)).detach().requires_grad_()
    answers = model(inputs_embeds=h).logits[0].sum(-1)
    gradients = [torch.autograd.grad(answer, h, retain_graph=True)[0][0].abs().sum(-1) > 0 for answer in answers]
    expected = PATTERNS.build({"name": name, "groups": 4}).mask(4, LONG).any(0)
    assert torch.equal(torch.stack(gradients), expected)
    assert torch.equal(model(texts(2)).logits, model(input_ids=texts(2), attention_mask=torch.ones(2, LONG)).logits)
    handle.remove()
    torch.testing.assert_close(model(texts(2)).logits, plain, rtol=1e-3, atol=1e-3)


@torch.no_grad()
def test_attention_by_the_pattern_equals_that_of_groups():
    model, seen = tiny().train(), []
    hf.sparse_attention.sparse_in_training(model, "rolled", groups=4)
    attention = model.base_model.layers[0].self_attn
    attention.register_forward_pre_hook(lambda _, __, given: seen.append(given["attention_mask"]), with_kwargs=True)
    model(texts(2))
    q, k, v = torch.randn(3, 2, 2, LONG, 32, generator=torch.Generator().manual_seed(0))
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    attention.num_key_value_groups = 1
    found = sdpa_attention_forward(attention, q, k, v, seen[0], scaling=32**-0.5)[0].transpose(1, 2)
    groups = [each[:, 1:].roll(-3, 2).unflatten(2, (4, 6)) for each in (q, k, v)]
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    weights = (groups[0] @ groups[1].mT / math.sqrt(32)).masked_fill(future, -math.inf).softmax(-1)
    torch.testing.assert_close(found[:, 1:], (weights @ groups[2]).flatten(2, 3).roll(3, 2))


def test_patterns_that_do_not_fit_a_call_are_refused():
    model = tiny().train()
    handle = hf.sparse_attention.sparse_in_training(model, "shifted", groups=4)
    with pytest.raises(InputError, match="pattern.groups=4: must divide a window of 12 tokens"):
        model(texts(2, length=12))
    with pytest.raises(InputError, match="attention_mask: has zeros; must be all ones"):
        model(texts(2), attention_mask=(torch.arange(LONG) > 2).long().expand(2, -1))
    model.config._attn_implementation_internal = "flex_attention"
    with pytest.raises(InputError, match="attn_implementation=flex_attention: accepts no mask for each head"):
        model(texts(2))
    handle.remove()
