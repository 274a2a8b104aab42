"""Sampled positions in models of Transformers, tiny ones. Nothing of Transformers is imported before a test runs."""

from types import SimpleNamespace

import pytest
import torch

from support.language_models import texts, tiny
from synthlab.errors import InputError
from synthlab.positions.cream import Cream
from synthlab.positions.samplers import PoSE, RandPos

pytestmark = pytest.mark.slow

LENGTH = 8


@pytest.fixture(scope="module")
def hf() -> SimpleNamespace:
    """Transformers, the lab's trainer, and what is tested here."""
    transformers = pytest.importorskip("transformers")
    from synthlab.huggingface.aligned_trainer import AlignedTrainer, Alignment, huggingface_loss
    from synthlab.huggingface.collator import PositionCollator

    return SimpleNamespace(
        lib=transformers,
        PositionCollator=PositionCollator,
        AlignedTrainer=AlignedTrainer,
        Alignment=Alignment,
        huggingface_loss=huggingface_loss,
    )


@pytest.fixture
def model(hf) -> torch.nn.Module:
    return tiny(scale=5.0)


def watched(model: torch.nn.Module) -> list[dict]:
    """What each later call of the model is given: its mode, tokens and positions."""
    seen: list[dict] = []

    def note(module, _, given):
        seen.append({"training": module.training} | {name: given.get(name) for name in ("input_ids", "position_ids")})

    model.register_forward_pre_hook(note, with_kwargs=True)
    return seen


def in_training(seen: list[dict]) -> torch.Tensor:
    return torch.stack([each["position_ids"] for each in seen if each["training"]])


def labelled(tokens: torch.Tensor) -> list[dict]:
    return [{"input_ids": text, "labels": text} for text in tokens]


def collated(collator, rows: int = 4, length: int = LENGTH) -> torch.Tensor:
    return collator(labelled(texts(rows, length)))["position_ids"]


@pytest.fixture
def trainer(hf, tmp_path):
    def make(model, dataset, collator, alignment=None, evaluated=None, **settings):
        quick = {"max_steps": 6, "per_device_train_batch_size": 4, "report_to": [], "disable_tqdm": True}
        quiet = {"use_cpu": True, "save_strategy": "no", "dataloader_pin_memory": False}
        args = hf.lib.TrainingArguments(str(tmp_path), **quick | quiet | settings)
        kind = hf.lib.Trainer if alignment is None else hf.AlignedTrainer
        given = {} if alignment is None else {"alignment": alignment}
        shared = {"train_dataset": dataset, "eval_dataset": evaluated, "data_collator": collator}
        return kind(model, args, callbacks=[collator], **shared, **given)

    return make


def logits_by_hand(model, tokens, positions):
    """Under a causal mask of its own, which nothing that Transformers infers from positions changes."""
    length = tokens.shape[1]
    mask = torch.full((length, length), -torch.inf).triu(1).expand(len(tokens), 1, length, length)
    return model(input_ids=tokens, position_ids=positions, attention_mask=mask).logits


def test_the_model_sees_the_sampler_s_positions_and_all_tokens_before(hf, model):
    batch = hf.PositionCollator(RandPos(factor=4))(labelled(texts(4, LENGTH)))
    found = model(**batch, use_cache=False).logits  # as trainers call it
    tokens, positions = batch["input_ids"], batch["position_ids"]
    assert torch.allclose(found, logits_by_hand(model, tokens, positions), atol=1e-4)
    plain = model(input_ids=tokens).logits
    assert not torch.allclose(found, plain, atol=1e-2)
    # The hazard for which the batch has a mask: without it each jump begins a text of its own.
    unmasked = model(input_ids=tokens, position_ids=positions, use_cache=False).logits
    assert not torch.allclose(found, unmasked, atol=1e-2)


def test_positions_depend_on_the_seed_and_the_number_of_the_batch(hf):
    first, same, other = (hf.PositionCollator(RandPos(factor=4), seed=seed) for seed in (0, 0, 1))
    drawn = [collated(first) for _ in range(3)]
    assert all(torch.equal(batch, collated(same)) for batch in drawn)
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], collated(other))
    assert (drawn[0].diff() > 0).all()
    assert drawn[0].max() < 32


def test_the_collator_given_is_the_one_that_makes_the_batch(hf):
    def reversed_texts(features):
        return {"input_ids": torch.stack([each["input_ids"].flip(0) for each in features])}

    tokens = texts(4, LENGTH)
    batch = hf.PositionCollator(RandPos(factor=4), collator=reversed_texts)(labelled(tokens))
    assert torch.equal(batch["input_ids"], tokens.flip(1))
    assert batch.keys() == {"input_ids", "attention_mask", "position_ids"}


def test_a_sampler_that_gathers_gets_its_tokens(hf):
    sampler = PoSE(factor=4, text=3)
    tokens = torch.arange(24).expand(4, 24)
    batch = hf.PositionCollator(sampler, length=LENGTH)(labelled(tokens))
    assert all(batch[name].shape == (4, LENGTH) for name in batch)
    assert torch.equal(batch["input_ids"], batch["labels"])
    skipped = batch["input_ids"] - torch.arange(LENGTH)
    assert skipped.max() > 0
    assert skipped.max() <= 16
    assert (skipped.diff().bool().sum(1) <= 1).all()  # the tokens are their places: two chunks


def test_a_trainer_samples_in_training_alone_even_between_evaluations(hf, model, trainer):
    seen = watched(model)
    several = {"one": labelled(texts(4, LENGTH)), "two": labelled(texts(4, LENGTH))}
    settings = {"eval_strategy": "steps", "eval_steps": 2, "eval_on_start": True, "dataloader_num_workers": 0}
    made = trainer(
        model, labelled(texts(8, LENGTH)), hf.PositionCollator(RandPos(factor=4)), evaluated=several, **settings
    )
    before = made.evaluate()
    made.train()
    made.evaluate()
    tested = [each for each in seen if not each["training"]]
    assert len(tested) == 2 * (1 + 1 + 3 + 1)
    assert all(each["position_ids"] is None for each in tested)
    assert before["eval_one_loss"] == before["eval_two_loss"]
    trained = in_training(seen)
    assert trained.shape == (6, 4, LENGTH)
    assert len(trained.unique(dim=0)) == 6


@pytest.mark.parametrize("workers", [0, 2])
def test_a_trainer_gives_the_positions_of_a_loop_whatever_the_epochs_and_workers(hf, model, trainer, workers):
    seen = watched(model)
    collator = hf.PositionCollator(RandPos(factor=4), seed=3)
    trainer(model, labelled(texts(12, LENGTH)), collator, dataloader_num_workers=workers).train()
    alone = hf.PositionCollator(RandPos(factor=4), seed=3)
    expected = torch.stack([collated(alone) for _ in range(6)])  # two epochs of three batches
    assert torch.equal(in_training(seen), expected)


def test_a_resumed_run_has_the_positions_of_an_uninterrupted_one(hf, trainer, tmp_path):
    settings = {"gradient_accumulation_steps": 2, "save_strategy": "steps", "save_steps": 2, "max_steps": 4}
    data, found = labelled(texts(24, LENGTH)), []
    for resume in (None, str(tmp_path / "checkpoint-2")):
        model = tiny(scale=5.0)
        seen = watched(model)
        trainer(model, data, hf.PositionCollator(RandPos(factor=4)), **settings).train(resume_from_checkpoint=resume)
        found.append(in_training(seen))
    whole, rest = found
    assert len(whole.unique(dim=0)) == 8
    assert torch.equal(rest, whole[4:])


def test_a_second_training_shares_no_draw_with_the_first(hf, model, trainer):
    settings = {"factor": 4, "sigma": 3.0, "continuity": 1, "shared": 1000, "limits": "clamped", "text": None}
    collator, seen = hf.PositionCollator(Cream(**settings)), watched(model)
    made = trainer(model, labelled(texts(8, 32)), collator, max_steps=2)
    made.train()
    made.train()
    assert torch.equal(in_training(seen[:2]), in_training(seen[2:]))


def test_the_aligned_loss_at_sampled_positions_is_that_of_two_passes_at_them(hf, model):
    tokens = texts(4, LENGTH + 3)
    positions = collated(hf.PositionCollator(RandPos(factor=4)))
    loss = hf.huggingface_loss(model, tokens, LENGTH, 0.3, position_ids=positions)
    windows = (tokens[:, :LENGTH], tokens[:, -LENGTH:])
    first, second = (logits_by_hand(model, window, positions).log_softmax(-1) for window in windows)
    cross_entropies = [
        -log_p[:, :-1].gather(-1, window[:, 1:, None]).mean()
        for log_p, window in zip((first, second), windows, strict=True)
    ]
    assert loss.training.item() == pytest.approx(sum(cross_entropies).item() / 2, rel=1e-4)
    p, q = first[:, 6:], second[:, 3:5]  # contexts of 4 or more in both: tokens 7 and 8 of the first
    assert loss.misalignment.item() == pytest.approx(-((p.exp() * q + q.exp() * p).sum(-1)).mean().item(), rel=1e-4)


def test_what_does_not_fit_is_refused_in_one_line(hf):
    gathers = PoSE(factor=4, text=3)
    with pytest.raises(InputError, match="^seed=-1: must be at least 0$"):
        hf.PositionCollator(RandPos(factor=4), seed=-1)
    with pytest.raises(InputError, match="^length=0: must be at least 1, or None for all tokens of the texts$"):
        hf.PositionCollator(RandPos(factor=4), length=0)
    with pytest.raises(
        InputError, match="^length=None: must be the tokens of a window, for the sampler gathers it .*$"
    ):
        hf.PositionCollator(gathers)
    uneven = [{"input_ids": list(range(length))} for length in (7, 9)]
    padded = [{"input_ids": [1, 2, 0], "attention_mask": [1, 1, 0]}]
    for settings, features, line in [
        ({}, uneven, "input_ids: have 7 to 9 tokens; must all have as many"),
        ({}, padded, "attention_mask: has zeros; must be all ones, for padded texts are given no positions"),
        ({"length": 4}, labelled(texts(2, 3)), "input_ids: have 3 tokens each; must be at least length=4"),
        (
            {"sampler": gathers, "length": 8},
            labelled(texts(2, 20)),
            "input_ids: have 20 tokens each; must have 24, from which length=8 are gathered",
        ),
    ]:
        with pytest.raises(InputError, match=f"^{line}$"):
            hf.PositionCollator(**{"sampler": RandPos(factor=4)} | settings)(features)
