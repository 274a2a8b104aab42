"""Sampled positions in models of Transformers."""

from functools import partial

import pytest
import torch

from support import hf, language_models
from support.language_models import labelled, texts, tiny
from synthlab.errors import InputError
from synthlab.positions.samplers import PoSE, RandPos

pytestmark = pytest.mark.slow

LENGTH = 8


@pytest.fixture
def model() -> torch.nn.Module:
    return tiny(scale=5.0)


@pytest.fixture
def trainer(tmp_path):
    return partial(language_models.trainer, tmp_path, max_steps=6)


def watched(model: torch.nn.Module) -> list[dict]:
    """What each later call of the model is given: its mode, tokens and positions."""
    seen: list[dict] = []

    def note(module, _, given):
        seen.append({"training": module.training} | {name: given.get(name) for name in ("input_ids", "position_ids")})

    model.register_forward_pre_hook(note, with_kwargs=True)
    return seen


def in_training(seen: list[dict]) -> torch.Tensor:
    return torch.stack([each["position_ids"] for each in seen if each["training"]])


def logits_by_hand(model, tokens, positions):
    """Under a causal mask of its own, which nothing that Transformers infers from positions changes."""
    length = tokens.shape[1]
    mask = torch.full((length, length), -torch.inf).triu(1).expand(len(tokens), 1, length, length)
    return model(input_ids=tokens, position_ids=positions, attention_mask=mask).logits


def test_model_sees_the_sampled_positions(model):
    batch = hf.collator.PositionCollator(RandPos(factor=4))(labelled(texts(4, LENGTH)))
    found = model(**batch, use_cache=False).logits  # as trainers call it
    tokens, positions = batch["input_ids"], batch["position_ids"]
    assert torch.allclose(found, logits_by_hand(model, tokens, positions), atol=1e-4)
    plain = model(input_ids=tokens).logits
    assert not torch.allclose(found, plain, atol=1e-2)
    # The hazard for which the batch has a mask: without it each jump begins a text of its own.
    unmasked = model(input_ids=tokens, position_ids=positions, use_cache=False).logits
    assert not torch.allclose(found, unmasked, atol=1e-2)


def test_a_sampler_that_gathers_gets_its_tokens():
    sampler = PoSE(factor=4, text=3)
    tokens = torch.arange(24).expand(4, 24)
    batch = hf.collator.PositionCollator(sampler, length=LENGTH)(labelled(tokens))
    assert all(batch[name].shape == (4, LENGTH) for name in batch)
    assert torch.equal(batch["input_ids"], batch["labels"])
    skipped = batch["input_ids"] - torch.arange(LENGTH)
    assert skipped.max() > 0
    assert skipped.max() <= 16
    assert (skipped.diff().bool().sum(1) <= 1).all()  # the tokens are their places: two chunks


def test_positions_are_sampled_in_training_alone(model, trainer):
    seen = watched(model)
    several = {"one": labelled(texts(4, LENGTH)), "two": labelled(texts(4, LENGTH))}
    settings = {"eval_strategy": "steps", "eval_steps": 2, "eval_on_start": True, "dataloader_num_workers": 0}
    collator = hf.collator.PositionCollator(RandPos(factor=4))
    made = trainer(model, labelled(texts(8, LENGTH)), collator=collator, evaluated=several, **settings)
    before = made.evaluate()
    made.train()
    made.evaluate()
    tested = [each for each in seen if not each["training"]]
    assert len(tested) == 2 * (1 + 1 + 3 + 1)
    assert all(each["position_ids"] is None for each in tested)
    assert before["eval_one_loss"] == before["eval_two_loss"]
    assert in_training(seen).shape == (6, 4, LENGTH)


@pytest.mark.parametrize("workers", [0, 2])
def test_positions_are_those_of_a_loop(model, trainer, workers):
    seen = watched(model)
    collator = hf.collator.PositionCollator(RandPos(factor=4), seed=3)
    trainer(model, labelled(texts(12, LENGTH)), collator=collator, dataloader_num_workers=workers).train()
    alone = hf.collator.PositionCollator(RandPos(factor=4), seed=3)
    expected = torch.stack(
        [alone(labelled(texts(4, LENGTH)))["position_ids"] for _ in range(6)]
    )  # two epochs of three batches
    assert torch.equal(in_training(seen), expected)


@pytest.mark.parametrize(
    ("settings", "features", "line"),
    [
        ({"sampler": PoSE(factor=4, text=3)}, [], "length=None: "),
        ({}, [{"input_ids": list(range(length))} for length in (7, 9)], "input_ids: have 7 to 9 tokens; "),
        ({}, [{"input_ids": [1, 0], "attention_mask": [1, 0]}], "attention_mask: has zeros; "),
        ({"length": 4}, labelled(texts(2, 3)), "input_ids: have 3 tokens each; "),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(settings, features, line):
    with pytest.raises(InputError, match=f"^{line}.*$"):
        hf.collator.PositionCollator(**{"sampler": RandPos(factor=4)} | settings)(features)
