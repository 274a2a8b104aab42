"""A language model's shortcuts, each against the model without it, for every encoding."""

from functools import partial

import pytest
import torch
from torch.testing import assert_close

from support.models import ARGUMENTS, build
from synthlab.models import attention
from synthlab.models.attention import Causal
from synthlab.models.encodings.base import SEEING, Encoding
from synthlab.models.language_model import LanguageModel, ReferenceLanguageModel
from synthlab.rng import stream

LENGTH, VOCABULARY = 9, 8
SIZES = {"width": 16, "depth": 2, "heads": 2, "mlp_ratio": 2.0, "norm": "pre", "attention": "softmax"}


def language_model(encoding: str, models: int = 1, made: type = LanguageModel, **changed) -> LanguageModel:
    make_encoding, streams = partial(build, encoding), [stream(seed, "initial") for seed in range(models)]
    return made(make_encoding, streams, VOCABULARY, **(SIZES | {"init_scale": 1.0} | changed))


def texts(models: int = 1) -> torch.Tensor:
    return torch.randint(VOCABULARY, (models, 3, LENGTH), generator=torch.Generator().manual_seed(0))


def logits_and_gradients(
    model: LanguageModel, *inputs, seen: torch.Tensor | None = None, call: str = "forward"
) -> list[torch.Tensor]:
    """The logits, and the gradients of a loss of those that ``seen`` marks."""
    logits = getattr(model, call)(*inputs)
    logits = logits if seen is None else logits * seen.unsqueeze(-1)
    model.zero_grad()
    logits.square().sum().backward()
    return [logits, *(torch.zeros_like(each) if each.grad is None else each.grad for each in model.parameters())]


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_fused_attention_is_attention(monkeypatch, name, models):
    model, x = language_model(name, models), texts(models)
    rows = torch.arange(2, 2 + LENGTH) + torch.arange(3)[:, None]  # of each text its own
    fusing = []
    monkeypatch.setattr(
        attention, "attend_fused", lambda *given, do=attention.attend_fused: fusing.append(1) or do(*given)
    )
    for positions in (None, rows.expand(models, -1, -1)):
        plain = logits_and_gradients(model, x, positions)
        assert not fusing
        monkeypatch.setattr(attention, "FUSED_FROM", LENGTH)
        for found, expected in zip(logits_and_gradients(model, x, positions), plain, strict=True):
            assert_close(found, expected, rtol=1e-4, atol=1e-5)
        monkeypatch.setattr(attention, "FUSED_FROM", LENGTH + 1)
        encoding = model.encoding.at_layer(0)
        layout = Causal.build(encoding, rows[None], attention.causal_mask(LENGTH, x.device))
        learned = layout.bias is not None and layout.bias.requires_grad
        plain_products = type(encoding).products is Encoding.products and not encoding.hooks & SEEING
        assert bool(fusing) == (plain_products and not learned)
        fusing.clear()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_logits_are_those_of_the_reference(name):
    model, plain = (language_model(name, 2, made) for made in (LanguageModel, ReferenceLanguageModel))
    assert_close(model(texts(2)), plain(texts(2)))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_last_logits_are_the_last_of_all(name):
    model, x = language_model(name, 2), texts(2)
    for count in (1, 4, LENGTH):
        assert_close(model(x, last=count), model(x)[:, :, -count:])


@pytest.mark.parametrize("shortest", [attention.FUSED_FROM, LENGTH])
@pytest.mark.parametrize("name", [name for name in ARGUMENTS if build(name).alike_up_to(1) == float("inf")])
def test_logits_without_padding(monkeypatch, name, shortest):
    monkeypatch.setattr(attention, "FUSED_FROM", shortest)
    model, x, sizes = language_model(name), texts(), torch.tensor([[4, LENGTH, 1]])
    is_token = torch.arange(LENGTH) < sizes[..., None]
    for positions in (None, (torch.arange(LENGTH) + torch.arange(3)[:, None])[None]):
        padded = logits_and_gradients(model, x, positions, seen=is_token)
        unpadded = logits_and_gradients(model, x, positions, sizes, call="without_padding")
        for found, expected in zip(unpadded, padded, strict=True):
            assert_close(found, expected, rtol=1e-4, atol=1e-5)
