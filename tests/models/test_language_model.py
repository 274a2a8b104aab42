"""A language model's shortcuts, each against the model without it, for every encoding."""

import pytest
import torch
from torch.testing import assert_close

from support.models import ARGUMENTS, LENGTH, build, model, texts
from synthlab.models import attention
from synthlab.models.attention import Causal
from synthlab.models.encodings.base import SEEING, Encoding
from synthlab.models.language_model import LanguageModel, ReferenceLanguageModel


def logits_and_gradients(net, *inputs, seen: torch.Tensor | None = None, call: str = "forward") -> list[torch.Tensor]:
    """The logits, and the gradients of a loss of those that ``seen`` marks."""
    logits = getattr(net, call)(*inputs)
    logits = logits if seen is None else logits * seen.unsqueeze(-1)
    net.zero_grad()
    logits.square().sum().backward()
    return [logits, *(torch.zeros_like(each) if each.grad is None else each.grad for each in net.parameters())]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_fused_attention_is_attention(monkeypatch, name):
    net, x = model(name, 2, LanguageModel), texts(2)
    rows = torch.arange(2, 2 + LENGTH) + torch.arange(3)[:, None]  # of each text its own
    fusing = []
    monkeypatch.setattr(
        attention, "attend_fused", lambda *given, do=attention.attend_fused: fusing.append(1) or do(*given)
    )
    for positions in (None, rows.expand(2, -1, -1)):
        plain = logits_and_gradients(net, x, positions)
        assert not fusing
        monkeypatch.setattr(attention, "FUSED_FROM", LENGTH)
        for found, expected in zip(logits_and_gradients(net, x, positions), plain, strict=True):
            assert_close(found, expected, rtol=1e-4, atol=1e-5)
        monkeypatch.setattr(attention, "FUSED_FROM", LENGTH + 1)
        encoding = net.encoding.at_layer(0)
        layout = Causal.build(encoding, rows[None], attention.causal_mask(LENGTH, x.device))
        learned = layout.bias is not None and layout.bias.requires_grad
        plain_products = type(encoding).products is Encoding.products and not encoding.hooks & SEEING
        assert bool(fusing) == (plain_products and not learned)
        fusing.clear()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_logits_and_the_last_of_them_are_those_of_the_reference(name):
    net, plain = (model(name, 2, made) for made in (LanguageModel, ReferenceLanguageModel))
    x, expected = texts(2), plain(texts(2))
    assert_close(net(x), expected)
    for count in (1, 4, LENGTH):
        assert_close(net(x, last=count), expected[:, :, -count:])


@pytest.mark.parametrize("shortest", [attention.FUSED_FROM, LENGTH])
@pytest.mark.parametrize("name", [name for name in ARGUMENTS if build(name).alike_up_to(1) == float("inf")])
def test_logits_without_padding(monkeypatch, name, shortest):
    monkeypatch.setattr(attention, "FUSED_FROM", shortest)
    net, x, sizes = model(name, made=LanguageModel), texts(), torch.tensor([[4, LENGTH, 1]])
    is_token = torch.arange(LENGTH) < sizes[..., None]
    for positions in (None, (torch.arange(LENGTH) + torch.arange(3)[:, None])[None]):
        padded = logits_and_gradients(net, x, positions, seen=is_token)
        unpadded = logits_and_gradients(net, x, positions, sizes, call="without_padding")
        for found, expected in zip(unpadded, padded, strict=True):
            assert_close(found, expected, rtol=1e-4, atol=1e-5)
