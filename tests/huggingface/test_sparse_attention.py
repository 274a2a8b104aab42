"""Sparse patterns in models of Transformers."""

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
