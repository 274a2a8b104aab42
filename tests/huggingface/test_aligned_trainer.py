"""The regularizer on models of Transformers, with rotary positions and with learned ones and dropout."""

from functools import partial

import pytest
import torch

from support import hf, language_models
from support.language_models import labelled, logged, texts, tiny
from synthlab.errors import InputError
from synthlab.longshort.regularizer import aligned_loss, combine_losses

pytestmark = pytest.mark.slow

LENGTH, ALPHA = 8, 0.3


@pytest.fixture(params=["Llama", "GPT2"])
def model(request) -> torch.nn.Module:
    return tiny(request.param, scale=10.0)


@pytest.fixture
def trainer(tmp_path):
    return partial(language_models.trainer, tmp_path)


def align(alpha: float = ALPHA, **settings):
    return hf.aligned_trainer.Alignment(LENGTH, alpha, **settings)


def aligned(model, tokens, **others):
    return hf.aligned_trainer.huggingface_loss(model, tokens, LENGTH, ALPHA, **others)


def rows(tokens: torch.Tensor, **more) -> list[dict]:
    return [{"input_ids": text, **more} for text in tokens]


def weights(model) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_dropout_is_off_while_it_measures():
    model, x = tiny("GPT2", scale=10.0).train(), texts(4, 8)
    model.transformer.h[0].eval()
    modes = [module.training for module in model.modules()]
    measure = hf.aligned_trainer.as_function(model)
    answers = measure(x)
    assert [module.training for module in model.modules()] == modes
    assert not torch.equal(model(input_ids=x).logits, model(input_ids=x).logits)
    with pytest.raises(IndexError):
        measure(x + language_models.VOCABULARY)
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(answers, model.eval()(input_ids=x).logits)
    assert hf.aligned_trainer.as_function(model.bfloat16())(x).dtype == torch.float32


def test_the_loss_is_that_of_two_forward_passes(model):
    model.eval()
    tokens = texts(5, 11)
    loss = aligned(model, tokens)
    first, second = (model(input_ids=window).logits for window in (tokens[:, :LENGTH], tokens[:, -LENGTH:]))
    by_hand = combine_losses(first, second, tokens, ALPHA, context=4)
    thin = aligned_loss(hf.aligned_trainer.as_function(model), tokens, LENGTH, ALPHA)
    for name in ("total", "training", "misalignment"):
        value = getattr(loss, name).item()
        assert value == pytest.approx(getattr(by_hand, name).item(), rel=1e-5)
        assert value == pytest.approx(getattr(thin, name).item(), rel=1e-5)


def test_left_out_labels_change_the_training_part(model):
    model.eval()
    tokens = texts(5, 11)
    labels = tokens.clone()
    labels[:, :6] = -100
    full = aligned(model, tokens)
    part = aligned(model, tokens, labels=labels, attention_mask=torch.ones_like(tokens))
    assert part.misalignment.item() == full.misalignment.item()
    losses = []
    for start in (0, 3):
        window, targets = tokens[:, start : start + LENGTH], labels[:, start + 1 : start + LENGTH]
        log_p = model(input_ids=window).logits[:, :-1].log_softmax(-1)
        losses.append(-log_p.gather(-1, window[:, 1:, None]).squeeze(-1)[targets != -100])
    assert part.training.item() == pytest.approx(torch.cat(losses).mean().item(), rel=1e-5)
    assert part.training.item() != pytest.approx(full.training.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"length": 1}, "length=1: "),
        ({"alpha": -0.1}, "alpha=-0.1: "),
        ({"low": 0.5, "high": 0.25}, "low=0.5, high=0.25: "),
        ({"context": 2.0}, "context=2.0: "),
        ({"length": 5, "low": 0.3, "high": 0.3}, "low=0.3, high=0.3: "),
        ({"high": 0.75}, "high=0.75: "),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, line):
    with pytest.raises(InputError, match=f"^{line}.*$"):
        hf.aligned_trainer.Alignment(**{"length": 8, "alpha": 0.1} | settings)


def test_its_evaluation_is_the_plain_trainer_s(model, trainer):
    x, alignment = texts(6, 20), align(5.0)
    with_labels = labelled(x)
    with_labels[0]["labels"] = torch.full((20,), -100)
    settings = {"per_device_eval_batch_size": 4}
    aligned = trainer(model, rows(x), alignment, evaluated=with_labels, **settings)
    plain = trainer(model, with_labels, evaluated=with_labels, **settings)
    assert aligned.evaluate()["eval_loss"] == plain.evaluate()["eval_loss"]
    unlabelled = aligned.evaluate(rows(x))["eval_loss"]
    assert unlabelled == plain.evaluate(labelled(x))["eval_loss"]
    aligned.train()
    assert "training" not in aligned.evaluate()
    assert aligned.evaluate()["eval_loss"] == plain.evaluate()["eval_loss"]  # one model: both see it trained


def test_offsets_and_places_are_drawn_from_all_that_fit(trainer):
    made = trainer(tiny(scale=10.0), rows(texts(1, 14)), align(low=0.25))
    tokens = torch.arange(14)[None]
    drawn = set()
    for _ in range(400):
        found = made._sample({"input_ids": tokens, "labels": tokens})
        assert torch.equal(found["input_ids"], found["labels"])
        text = found["input_ids"][0].tolist()
        assert text == list(range(text[0], text[0] + len(text)))
        drawn.add((len(text) - LENGTH, text[0]))
    assert drawn == {(extra, start) for extra in (2, 3, 4) for start in range(14 - LENGTH - extra + 1)}


def test_accumulation_is_the_loss_of_all_windows(trainer):
    # One offset and no room to begin elsewhere; all windows in each step, so that their order does not matter.
    x, windows = texts(8, 12), {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}
    parts, unlabelled, whole, plain = (
        trainer(tiny(scale=10.0), labelled(x), align(low=0.5), **windows),
        trainer(tiny(scale=10.0), rows(x), align(0.0, low=0.5), **windows),
        trainer(tiny(scale=10.0), labelled(x), align(low=0.5), per_device_train_batch_size=8),
        trainer(tiny(scale=10.0), labelled(torch.cat((x[:, :8], x[:, 4:]))), per_device_train_batch_size=16),
    )
    for each in (parts, unlabelled, whole, plain):
        each.train()
    for one, other, names in ((parts, whole, ("loss", "training", "misalignment")), (unlabelled, plain, ("loss",))):
        for name in names:
            assert logged(one, name) == pytest.approx(logged(other, name), rel=1e-4), name
        assert torch.allclose(weights(one.model), weights(other.model), atol=1e-5)
    assert not torch.allclose(weights(parts.model), weights(plain.model), atol=1e-4)


@pytest.mark.parametrize(
    ("data", "settings", "line"),
    [
        (rows(texts(4, 11)), {}, "input_ids: have 11 tokens each; must be at least 12 for length=8 and"),
        (rows(texts(4, 12), position_ids=torch.arange(12)), {}, r"position_ids: have shape \(4, 12\); must have "),
        ([], {"label_smoothing_factor": 0.1}, "label_smoothing_factor=0.1: must be 0 for AlignedTrainer"),
    ],
)
def test_batches_that_do_not_fit_are_refused(trainer, data, settings, line):
    with pytest.raises(InputError, match=f"^{line}.*$"):
        trainer(tiny(scale=10.0), data, align(low=0.5, high=0.5), **settings).train()


@pytest.mark.parametrize(
    ("shape", "arguments", "line"),
    [((2, 13), {}, "extra=5: "), ((2, 11), {"attention_mask": torch.eye(2, 11)}, "attention_mask: has zeros; ")],
)
def test_texts_that_do_not_fit_are_refused(shape, arguments, line):
    with pytest.raises(InputError, match=f"^{line}.*$"):
        aligned(tiny(), texts(*shape), **arguments)
