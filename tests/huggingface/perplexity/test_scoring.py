"""Losses against a loop over tokens; misalignment; what is refused."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from support.causal import Causal, Keeping, documents, everything
from synthlab.alignment.misalignment import misalignment
from synthlab.errors import InputError
from synthlab.huggingface.perplexity.measurements import Measurement
from synthlab.huggingface.perplexity.scoring import CausalScorer, Part
from synthlab.huggingface.perplexity.windows import Span
from synthlab.rng import seed_generator

[DOCUMENT] = documents(41)
MEASURES = ("disjoint", "strided", "sliding", "last")


def measured(model: Causal, measure: str, span: Span, batch: int = 64, begin: int | None = None) -> Part:
    return Measurement(DOCUMENT, measure, span, 0).compute(CausalScorer(model, batch, begin), lambda _: None)


def loss(model: Causal, start: int, token: int, begin: int | None = None) -> float:
    """The loss of one token after those from ``start`` on: one call for it alone."""
    context = DOCUMENT.tokens[start:token].clone()
    if begin is not None:
        context[0] = begin
    with torch.no_grad():
        return F.cross_entropy(model(context[None]).logits[0, -1], DOCUMENT.tokens[token]).item()


def by_loop(model: Causal, measure: str, length: int, longest: int, stride: int, begin: int | None) -> list[float]:
    """The same definitions, written once more, token by token."""
    size, found = len(DOCUMENT.tokens), []
    for token in range(1, size):
        if measure == "disjoint" and token % length and token < size // length * length:
            found.append(loss(model, token // length * length, token, begin))
        if measure == "strided":  # the first window that reaches the token
            start = 0 if token < length else math.ceil((token - length + 1) / stride) * stride
            found.append(loss(model, start, token, begin))
        is_last = (token + 1) % longest == 0
        if (measure == "sliding" and token >= longest - 1) or (measure == "last" and is_last):
            found.append(loss(model, token - length + 1, token, begin))
    return found


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("length", "longest", "stride"), [(2, 2, 1), (6, 8, 2), (7, 7, 3), (8, 20, 5)])
@pytest.mark.parametrize("begin", [None, 2])
def test_losses_are_those_of_a_loop_over_tokens(measure, length, longest, stride, begin):
    model = everything()
    expected = by_loop(model, measure, length, longest, stride, begin)
    part = measured(model, measure, Span(length, longest, stride), begin=begin)
    assert part.count == len(expected) > 0
    assert part.sums["loss"] == pytest.approx(sum(expected), abs=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_batches_and_kept_logits_change_nothing(measure):
    span, model = Span(6, 8, 2), everything()
    one = measured(model, measure, span, batch=1)
    for same in (measured(model, measure, span, batch=1000), measured(Keeping(model.inner), measure, span)):
        assert same.count == one.count
        assert same.sums["loss"] == pytest.approx(one.sums["loss"], abs=1e-9)
        assert same.contexts == pytest.approx(one.contexts, abs=1e-9)


def test_loss_by_position():
    model = everything()
    part = measured(model, "disjoint", Span(8, 8, 4))
    assert sum(part.contexts) == pytest.approx(part.sums["loss"], abs=1e-9)
    assert part.contexts[2] == pytest.approx(sum(loss(model, start, start + 3) for start in range(0, 40, 8)), abs=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_cost_that_is_said_is_what_is_computed(measure):
    model, task = everything(), Measurement(DOCUMENT, measure, Span(6, 8, 2), 0)
    ticks: list[int] = []
    task.compute(CausalScorer(model, 16), ticks.append)
    tokens, calls = task.cost(16)
    assert (sum(model.read), len(model.read)) == (sum(ticks), len(ticks)) == (tokens, calls)


def test_misalignment_is_that_of_the_documents_pieces():
    model, length = everything(), 8
    found = Measurement(DOCUMENT, "misalignment", Span(length, 20, 4), 5).compute(
        CausalScorer(model, 64), lambda _: None
    )
    draws = seed_generator(np.random.SeedSequence((5, length, int(DOCUMENT.digest[:16], 16))))
    pieces = DOCUMENT.tokens[:40].view(5, 8)
    expected = misalignment(lambda tokens: model(tokens).logits, pieces, 4, 8, draws)
    assert found.count == 5
    assert found.sums["sce"] / 5 == pytest.approx(expected.sce.value, abs=1e-6)
    assert found.sums["excess"] / 5 == pytest.approx(expected.excess.value, abs=1e-6)
    assert expected.excess.value > 0
    cost, _ = Measurement(DOCUMENT, "misalignment", Span(8, 8, 4), 5).cost(64)
    assert sum(model.read[: len(model.read) // 2]) <= cost


@pytest.mark.parametrize("measure", ["disjoint", "misalignment"])
def test_answers_that_are_no_numbers_are_refused(measure):
    broken = everything()
    with torch.no_grad():
        broken.inner.direction.fill_(math.nan)
    with pytest.raises(InputError, match=r"^model: has logits that are not finite in 0 at length 6; .*dtype.*$"):
        measured(broken, measure, Span(6, 8, 2))


def test_a_model_of_few_positions_is_refused():
    positions = torch.nn.Embedding(4, 3)  # a model of 4 positions
    positions.forward = lambda tokens: positions.weight[torch.arange(tokens.shape[1])].expand(len(tokens), -1, -1)
    assert measured(Causal(positions), "disjoint", Span(4, 4, 2)).count == 30
    with pytest.raises(InputError, match=r"^lengths: model cannot read 5 tokens \(IndexError: index"):
        measured(Causal(positions), "disjoint", Span(6, 6, 2))
