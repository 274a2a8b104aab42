"""Language models on the bench: the model, its config, its objective, its training and its tests."""

import math
import re

import numpy as np
import pytest
import torch

from support.configs import small
from synthlab.errors import InputError
from synthlab.language.evaluation import (
    best_temperature,
    by_context,
    double_window,
    draw_held_out,
    evaluate_models,
    score_facts,
)
from synthlab.language.languages import TASKS
from synthlab.language.objective import WindowLoss
from synthlab.language.training import build_models, train_models
from synthlab.longshort.regularizer import aligned_loss, next_token_loss
from synthlab.models.encodings import ENCODINGS
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.runs.run import resolve
from synthlab.training.execution import execute

LENGTH_DEPENDENT = ("clex", "dynamic_ntk", "longrope")
MAPS = ("self_extend", "rerope", "leaky_rerope", "dual_chunk")
EXTENSIONS = ("nope", "pi", "ntk", "yarn", "eabf", *LENGTH_DEPENDENT, *MAPS)


def test_loss_without_the_regularizer():
    config = small("task=hidden_markov")
    ensemble = build_models([config])
    language = TASKS.build(config.task)
    drawn = language.draw(config.protocol.batch, config.train_length, stream(config.seed, "training"))
    found = WindowLoss(ensemble, [config])()
    assert found.tolist() == [next_token_loss(ensemble(drawn[None])[0], drawn).item()]


def test_loss_with_the_regularizer():
    config = small("task=hidden_markov", "alignment.windows=2", "alignment.alpha=0.3")
    ensemble = build_models([config])
    drawn = TASKS.build(config.task).draw(4, 16, stream(config.seed, "training"))
    extra = int(torch.randint(1, 5, (), generator=stream(config.seed, "windows")))
    by_hand = aligned_loss(Member(ensemble, 0), drawn[:, : 8 + extra], 8, 0.3)
    assert WindowLoss(ensemble, [config])().item() == pytest.approx(by_hand.total.item())


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_extension_replaces_the_encoding_after_training(extension):
    near = ["extension.window=8"] if extension in ("self_extend", "rerope", "leaky_rerope") else []
    plain, extended = small("encoding=rope"), small("encoding=rope", f"extension={extension}", *near)
    records = [execute(config) for config in (plain, extended)]
    assert records[0].training.equals(records[1].training)
    assert not records[0].metrics.equals(records[1].metrics)
    ensemble = build_models([extended])
    train_models(ensemble, [extended])
    assert ensemble.encoding.__class__ is ENCODINGS[extension]


def test_any_encoding_without_weights_can_be_dropped():
    config = small("encoding=alibi", "extension=nope", "finetune.steps=2")
    ensemble = build_models([config])
    train_models(ensemble, [config])
    tokens = torch.randint(256, (1, 1, 8), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        far = torch.tensor([[[1, 9, 9, 30, 2, 5, 5, 0]]])
        assert torch.equal(ensemble(tokens), ensemble(tokens, far))  # positions do nothing


def test_a_second_training_goes_on_from_the_first():
    overrides = ("encoding=rope", "extension=yarn", "alignment.windows=2", "alignment.alpha=0.5")
    plain, again = small("encoding=rope"), small(*overrides, "finetune.steps=4", "finetune.length=12")
    seen = []
    ensemble = build_models([again])
    training = train_models(ensemble, [again], lambda step, losses: seen.append(step))[0]
    assert training.steps == seen == [2, 4, 6, 8]
    # The first training is that of the plain model: windows, and no regularizer.
    assert training.losses[:2] == execute(plain).training["loss"].tolist()
    assert training.losses[2] > training.losses[1]  # alpha times a misalignment of some nats


def test_tests_may_read_another_language_than_training(tmp_path):
    (tmp_path / "one").write_bytes(b"ab" * 500)
    (tmp_path / "other").write_bytes(b"cd" * 500)
    given = ("task=text", f"task.path={tmp_path / 'one'}", f"test_task.path={tmp_path / 'other'}")
    config, plain = small(*given), small(*given[:2])
    assert config.test_task["digest"] == small("task=text", f"task.path={tmp_path / 'other'}").task["digest"]
    assert resolve(config.model_dump()).id == config.id != plain.id
    assert (config.shape, config.pretraining) == (plain.shape, plain.pretraining)
    drawn = set(draw_held_out(TASKS.build(config.tested_task), [config], 8).flatten().tolist())
    assert drawn == {ord("c"), ord("d")}
    changed, same = execute(config), execute(plain)
    assert changed.training.equals(same.training)
    assert changed.metrics["loss"].iloc[-1] > same.metrics["loss"].iloc[-1]


def test_drawn_positions_are_those_of_the_context():
    config = small("encoding=randomized", "encoding.span=40", "task=hidden_markov")
    ensemble = build_models([config])
    asked = []

    def watched(tokens, positions=None, last=None):
        asked.append((tokens.shape[-1], last))
        with torch.no_grad():
            return ensemble(tokens, last=last)

    found = by_context(watched, TASKS.build(config.task), [config], double_window(config))[0]
    assert (asked, found["length"].tolist()) == ([(8, 8), (16, 8), (32, 16)], list(range(1, 33)))
    in_one = by_context(watched, TASKS.build(config.task), [config], ensemble.encoding.alike_up_to)[0]
    np.testing.assert_allclose(found, in_one, rtol=1e-5)


def test_beyond_a_window_of_tests_models_read_its_tokens_alone():
    config = small("task=recall", "evaluation.window=8")
    language, asked = TASKS.build(config.task), []

    def watched(tokens, last=1):
        asked.append(tokens)
        return torch.zeros(*tokens.shape[:2], last, language.vocabulary)

    by_context(watched, language, [config], lambda length: math.inf)
    texts = draw_held_out(language, [config], 33)[..., :-1]
    assert torch.equal(asked[0], texts[..., :8])
    assert torch.equal(torch.stack(asked[1:], -2), texts.unfold(-1, 8, 1)[..., 1:, :])  # of 9 to 32 tokens the last 8
    asked.clear()
    score_facts(watched, language, [config])
    assert {each.shape[-1] for each in asked} == {8}  # of texts of 8 and of 32


@pytest.mark.parametrize("nothing", ["extension=none", "positions=contiguous", "lora=none", "pattern=full"])
def test_empty_groups_keep_the_identity(nothing):
    assert small("task=hidden_markov", nothing).id == small("task=hidden_markov").id


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        ("alignment.alpha=0.1", "alignment.windows=1: "),
        ("alignment.windows=2 alignment.high=0.9", "alignment.high=0.9: "),
        ("alignment.windows=2 alignment.low=0.3 alignment.high=0.3 train_length=5", "alignment.low=0.3: "),
        ("encoding=learned extension=yarn", "encoding=learned: an extension replaces rope"),
        ("encoding=learned encoding.table=20", "encoding=learned: has 20 positions"),
        ("encoding=learned extension=nope", "encoding=learned: has weights, which an extension would replace"),
        ("encoding=clex extension=pi", "encoding=clex: has weights, which an extension would replace"),
        ("evaluation.lengths=[1e9]", "evaluation.lengths=[1000000000.0]: "),
        ("extension=clex finetune.steps=2", "extension=clex: has weights that only training beyond 8 tokens affects"),
        ("finetune.steps=3", "finetune.steps=3: needs an extension"),
        ("lora=lora extension=pi", "lora=lora: applies only to a second training"),
        ("pattern=shifted extension=pi finetune.steps=1 finetune.length=20", "pattern.groups=4: "),
        ("positions=pose encoding=randomized", "positions=pose: encoding=randomized draws positions itself"),
        ("positions=randpos positions.factor=5 encoding=learned encoding.table=36", "positions=randpos: "),
        ("task=hidden_markov test_task.vocabulary=8", "test_task={'vocabulary': 8}: changes the vocabulary"),
        ("task.path=/nowhere/at/all", "task.path=/nowhere/at/all: No such file"),
    ],
)
def test_bad_settings_are_refused_in_one_line(overrides, line):
    with pytest.raises(InputError, match=f"^{re.escape(line)}") as refused:
        small(*overrides.split())
    assert len(refused.value.lines) == 1


def test_the_best_temperature_by_hand():
    # Three of four times the first token comes, whose logit is 2 more: at T the odds are exp(2 / T), and best where 3.
    logits = torch.tensor([[2.0, 0.0]]).repeat(4, 1)
    found = best_temperature(logits, torch.tensor([0, 0, 0, 1]))
    assert found == pytest.approx(2 / math.log(3), rel=1e-5)
    # Batches of texts are the same answers in another shape.
    assert best_temperature(logits.view(2, 2, 2), torch.tensor([[0, 0], [0, 1]])) == pytest.approx(found)


def test_excess_over_the_perfect_predictor():
    config = small("task=hidden_markov")
    metrics, outputs = evaluate_models(build_models([config]), [0], [config])[0]
    language = TASKS.build(config.task)
    texts = language.draw(8, 33, stream(config.test_seed, "evaluation"), held_out=True)
    log_p = language.predict(texts[:, :-1])
    by_hand = -log_p.gather(-1, texts[:, 1:, None])[..., 0].mean(0)
    np.testing.assert_allclose(metrics["perfect"], by_hand)
    assert (metrics["excess"] > 0).all()
    assert 0 < outputs["perfect_excess"][0] < outputs["excess"][0]


@pytest.mark.slow
def test_a_trained_model_approaches_the_perfect_predictor():
    config = small(
        *("task=hidden_markov", "task.states=4", "task.vocabulary=6", "task.stay=0.98"),
        *("task.falloff=0.6", "train_length=32", "test_length=32", "evaluation.sequences=256", "encoding=nope"),
        *("model.width=32", "model.depth=2", "protocol.steps=1500", "protocol.batch=16", "protocol.lr=3e-3"),
    )
    record = execute(config)
    gained = record.metrics["loss"].iloc[0] - record.metrics["perfect"].iloc[-16:].mean()
    assert gained > 0.05  # what the context is worth
    assert record.metrics["excess"].iloc[-16:].mean() < 0.2 * gained
    assert record.outputs["excess"][0] == pytest.approx(record.outputs["perfect_excess"][0], abs=0.02)
