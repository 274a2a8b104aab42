"""Language models under an extension that depends on the length of the text, and one that has weights: CLEX."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from support.configs import small
from support.records import opened
from synthlab.language.evaluation import by_context
from synthlab.language.languages import TASKS
from synthlab.language.run import LanguageRun
from synthlab.language.training import build_extension, build_models, train_models
from synthlab.models.layers import Member, Members
from synthlab.rng import stream

NAMES = ("clex", "dynamic_ntk", "longrope")
TRAINED = ("extension=clex", "positions=clex", "finetune.steps=4", "finetune.lr=0.01")


def trained(*overrides: str) -> tuple[torch.nn.Module, LanguageRun]:
    config = small(*(overrides or TRAINED))
    ensemble = build_models([config])
    train_models(ensemble, [config])
    return ensemble, config


@pytest.mark.parametrize("name", NAMES)
def test_each_context_is_evaluated_as_a_text_of_its_own(name):
    overrides = [f"extension={name}", *(TRAINED[1:] if name == "clex" else ())]
    ensemble, config = trained(*overrides, "task=hidden_markov")
    language, member = TASKS.build(config.task), Member(ensemble, 0)
    with torch.no_grad():
        found = by_context(Members(ensemble, [0]), language, [config], ensemble.encoding.alike_up_to)[0]
        texts = language.draw(8, 33, stream(config.test_seed, "evaluation"), held_out=True)
        alone = [F.cross_entropy(member(texts[:, :k])[:, -1], texts[:, k]).item() for k in range(1, 33)]
        in_one = F.cross_entropy(member(texts[:, :-1]).mT, texts[:, 1:], reduction="none").mean(0)
    assert found["length"].tolist() == list(range(1, 33))
    np.testing.assert_allclose(found["loss"], alone, rtol=1e-5)
    assert (np.abs(in_one.numpy() - alone) > 1e-5).any()  # what one window of all tokens would give


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_answered_as_each_alone(name):
    model = opened(small(f"extension={name}", *(TRAINED[1:] if name == "clex" else ())))
    texts = ["def f(", "import os, sys, re", "x", "for key, value in pairs.items():"]
    together = model.predict(texts).output
    for text, output in zip(texts, together, strict=True):
        torch.testing.assert_close(model.predict([text]).output[0], output, rtol=1e-5, atol=1e-5)


def test_the_second_training_trains_an_extension():
    ensemble, config = trained()
    fresh = build_extension([config])
    for name, values in ensemble.encoding.named_parameters():
        assert not torch.equal(values, dict(fresh.named_parameters())[name]), name


def test_length_factors_reach_as_far_as_the_tests():
    config = small("extension=clex", "positions=clex", "finetune.steps=2", "test_length=60")
    assert config.extension["factor"] == config.positions["factor"] == 8  # 60 tokens are 7.5 windows of 8
