"""On tiny models with random weights. Nothing of Transformers is imported before a test runs: that takes seconds."""

from types import SimpleNamespace

import pytest
import torch

from synthlab.alignment.misalignment import misalignment
from synthlab.alignment.regularizer import aligned_loss, combined
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

VOCABULARY = 11
LENGTH, ALPHA = 8, 0.3


@pytest.fixture(scope="module")
def lm() -> SimpleNamespace:
    """Transformers, and what is tested here."""
    transformers = pytest.importorskip("transformers")
    from synthlab.huggingface import aligned_trainer as huggingface

    return SimpleNamespace(**{name: getattr(huggingface, name) for name in huggingface.__all__}, hf=transformers)


@pytest.fixture(params=["llama", "gpt2"])
def model(lm, request) -> torch.nn.Module:
    """With rotary positions and no dropout, and with learned ones and dropout."""
    return build(lm, request.param)


def build(lm, name: str, seed: int = 0, dropout: float = 0.1) -> torch.nn.Module:
    torch.manual_seed(seed)
    common = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 0}
    if name == "llama":
        sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        made = lm.hf.LlamaForCausalLM(lm.hf.LlamaConfig(**common, **sizes, max_position_embeddings=64))
    else:
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
        rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
        made = lm.hf.GPT2LMHeadModel(lm.hf.GPT2Config(**common, **sizes, **rates))
    with torch.no_grad():  # as drawn, all answers are nearly uniform, and agree whatever is wrong
        for parameter in made.parameters():
            if parameter.ndim > 1:
                parameter.mul_(10)
    return made


def texts(rows: int, length: int, seed: int = 7) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(tokens: torch.Tensor, **more) -> list[dict]:
    """What a Trainer takes for a dataset."""
    return [{"input_ids": text, **more} for text in tokens]


def labelled(tokens: torch.Tensor) -> list[dict]:
    return [{"input_ids": text, "labels": text} for text in tokens]


@pytest.fixture
def trainer(lm, tmp_path):
    """A function that makes a trainer, aligned if it is given an alignment."""

    def make(model, dataset, alignment=None, evaluated=None, **settings):
        quick = {"learning_rate": 0.1, "optim": "sgd", "max_steps": 3, "per_device_train_batch_size": 4}
        quiet = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "logging_steps": 1, "save_strategy": "no"}
        args = lm.hf.TrainingArguments(str(tmp_path), **quick | quiet | settings)
        kind = lm.hf.Trainer if alignment is None else lm.AlignedTrainer
        given = {} if alignment is None else {"alignment": alignment}
        return kind(model, args, train_dataset=dataset, eval_dataset=evaluated, **given)

    return make


def logged(trainer, name: str) -> list[float]:
    return [line[name] for line in trainer.state.log_history if name in line]


def weights(model) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("form", ["last", "overlap"])
def test_the_metric_is_that_of_each_suffix_alone(lm, model, form):
    x = texts(20, 12)

    def alone(tokens):  # each place of each row by a call of its own
        with torch.no_grad():
            answers = [
                torch.cat([model(input_ids=row[None, : t + 1]).logits[:, -1] for t in range(len(row))])
                for row in tokens
            ]
        return torch.stack(answers)

    found = misalignment(lm.as_function(model), x, 4, 8, generator(), form=form)
    model.eval()
    expected = misalignment(alone, x, 4, 8, generator(), form=form)
    for name in ("sce", "excess", "kl", "squared"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-3), name
    assert found.excess.value > 0.1


def test_dropout_is_off_while_it_measures_and_every_module_is_then_as_it_was(lm):
    model, x = build(lm, "gpt2", dropout=0.5).train(), texts(4, 8)
    model.transformer.h[0].eval()
    modes = [module.training for module in model.modules()]
    measure = lm.as_function(model)
    assert torch.equal(measure(x), measure(x))
    assert [module.training for module in model.modules()] == modes
    assert not torch.equal(model(input_ids=x).logits, model(input_ids=x).logits)
    with pytest.raises(IndexError):
        measure(x + VOCABULARY)
    assert [module.training for module in model.modules()] == modes


def test_answers_are_in_32_bits(lm, model):
    assert lm.as_function(model.bfloat16())(texts(2, 5)).dtype == torch.float32


def test_the_loss_is_that_of_two_forward_passes(lm, model):
    model.eval()
    tokens = texts(5, 11)
    loss = lm.huggingface_loss(model, tokens, LENGTH, ALPHA)
    first, second = (model(input_ids=window).logits for window in (tokens[:, :LENGTH], tokens[:, -LENGTH:]))
    by_hand = combined(first, second, tokens, ALPHA, context=4)
    thin = aligned_loss(lm.as_function(model), tokens, LENGTH, ALPHA)
    for name in ("total", "training", "misalignment"):
        value = getattr(loss, name).item()
        assert value == pytest.approx(getattr(by_hand, name).item(), rel=1e-5)
        assert value == pytest.approx(getattr(thin, name).item(), rel=1e-5)
    assert loss.total.item() == pytest.approx(loss.training.item() + ALPHA * loss.misalignment.item())


def test_labels_that_are_left_out_change_the_training_part_alone(lm, model):
    model.eval()
    tokens = texts(5, 11)
    labels = tokens.clone()
    labels[:, :6] = -100
    full = lm.huggingface_loss(model, tokens, LENGTH, ALPHA)
    part = lm.huggingface_loss(model, tokens, LENGTH, ALPHA, labels=labels, attention_mask=torch.ones_like(tokens))
    assert part.misalignment.item() == full.misalignment.item()
    losses = []
    for start in (0, 3):
        window, targets = tokens[:, start : start + LENGTH], labels[:, start + 1 : start + LENGTH]
        log_p = model(input_ids=window).logits[:, :-1].log_softmax(-1)
        losses.append(-log_p.gather(-1, window[:, 1:, None]).squeeze(-1)[targets != -100])
    assert part.training.item() == pytest.approx(torch.cat(losses).mean().item(), rel=1e-5)
    assert part.training.item() != pytest.approx(full.training.item(), rel=1e-5)


@pytest.mark.parametrize("part", ["total", "misalignment"])
def test_gradients_reach_all_parameters(lm, model, part):
    getattr(lm.huggingface_loss(model, texts(5, 11), LENGTH, ALPHA), part).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_what_does_not_fit_is_refused_in_one_line(lm):
    model, tokens = build(lm, "llama"), texts(2, 11)
    padded = torch.ones_like(tokens)
    padded[0, -1] = 0
    for arguments, line in [
        ({"input_ids": tokens[:, :8]}, "input_ids: have 8 tokens each; must be more than length=8"),
        (
            {"input_ids": texts(2, 13)},
            "extra=5: must be from 1 to 4, or two windows of 8 tokens have no place",
        ),
        ({"attention_mask": padded}, "attention_mask: has zeros; must be all ones"),
        ({"labels": tokens[:, 1:]}, r"labels: have shape \(2, 10\); must have input_ids', \(2, 11\)"),
    ]:
        with pytest.raises(InputError, match=f"^{line}.*$"):
            lm.huggingface_loss(model, **{"input_ids": tokens, "length": 8, "alpha": 0.1} | arguments)


def test_a_model_that_gives_no_logits_with_its_loss_is_refused(lm):
    model = build(lm, "llama")
    forward = model.forward
    model.forward = lambda **inputs: SimpleNamespace(loss=forward(**inputs).loss, logits=None)
    with pytest.raises(InputError, match="^model: gives no logits along with its loss, as with .*; must give both$"):
        lm.huggingface_loss(model, texts(2, 11), LENGTH, ALPHA)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"length": 1}, "length=1: must be at least 2"),
        ({"alpha": -0.1}, "alpha=-0.1: must be at least 0, and finite"),
        ({"low": 0.5, "high": 0.25}, "low=0.5, high=0.25: must be fractions of length, low at most high"),
        ({"context": 2.0}, "context=2.0: must be a fraction of length, from 0 to 1"),
        ({"length": 5, "low": 0.3, "high": 0.3}, "low=0.3, high=0.3: must have a whole number of tokens between them"),
        ({"high": 0.75}, "high=0.75: offsets up to 6; must be up to 4 at most, for windows of length=8"),
    ],
)
def test_settings_that_do_not_fit_are_refused(lm, settings, line):
    with pytest.raises(InputError, match=f"^{line}.*$"):
        lm.Alignment(**{"length": 8, "alpha": 0.1} | settings)


def test_the_trainer_learns_and_logs_the_parts_of_its_loss(lm, model, trainer):
    counting = (texts(16, 1) + torch.arange(20)) % VOCABULARY
    settings = {"max_steps": 12, "gradient_accumulation_steps": 2, "optim": "adamw_torch", "learning_rate": 0.01}
    trained = trainer(model, rows(counting), lm.Alignment(LENGTH, ALPHA), **settings)
    trained.train()
    parts = zip(*(logged(trained, name) for name in ("loss", "training", "misalignment")), strict=True)
    for loss, training, misaligned in parts:
        assert loss == pytest.approx(training + ALPHA * misaligned, rel=1e-5)
    losses = logged(trained, "loss")
    assert len(losses) == 12
    assert sum(losses[-4:]) < 0.9 * sum(losses[:4])


def test_several_steps_between_logs_and_a_smaller_last_batch_count_as_in_the_loss(lm, trainer):
    # Three batches an epoch: a step of two and a step of one.
    settings = {"max_steps": 4, "gradient_accumulation_steps": 2, "per_device_train_batch_size": 2, "logging_steps": 2}
    trained = trainer(build(lm, "llama"), rows(texts(6, 12)), lm.Alignment(LENGTH, ALPHA), **settings)
    trained.train()
    parts = list(zip(*(logged(trained, name) for name in ("loss", "training", "misalignment")), strict=True))
    assert len(parts) == 2
    for loss, training, misaligned in parts:
        assert loss == pytest.approx(training + ALPHA * misaligned, rel=1e-5)


def test_without_alpha_it_is_the_plain_trainer_on_the_same_windows(lm, trainer):
    # One offset and no room to begin elsewhere; all windows in each step, so that their order does not matter.
    x = texts(8, 12)
    always_4 = lm.Alignment(LENGTH, 0.0, low=0.5)
    aligned = trainer(
        build(lm, "llama"), rows(x), always_4, per_device_train_batch_size=2, gradient_accumulation_steps=4
    )
    windows = torch.cat((x[:, :LENGTH], x[:, 4:]))
    plain = trainer(build(lm, "llama"), labelled(windows), per_device_train_batch_size=16)
    aligned.train()
    plain.train()
    assert logged(aligned, "loss") == pytest.approx(logged(plain, "loss"), rel=1e-5)
    assert logged(aligned, "training") == pytest.approx(logged(plain, "loss"), rel=1e-5)
    assert torch.allclose(weights(aligned.model), weights(plain.model), atol=1e-5)
    assert not torch.allclose(weights(aligned.model), weights(build(lm, "llama")), atol=1e-2)


@pytest.mark.parametrize("labels", [False, True])
def test_accumulated_batches_are_as_good_as_one(lm, trainer, labels):
    x, alignment = texts(8, 12), lm.Alignment(LENGTH, ALPHA, low=0.5)
    data = labelled(x) if labels else rows(x)
    parts = trainer(build(lm, "llama"), data, alignment, per_device_train_batch_size=2, gradient_accumulation_steps=4)
    whole = trainer(build(lm, "llama"), data, alignment, per_device_train_batch_size=8)
    parts.train()
    whole.train()
    for name in ("loss", "training", "misalignment", "grad_norm"):
        assert logged(parts, name) == pytest.approx(logged(whole, name), rel=1e-4), name
    assert torch.allclose(weights(parts.model), weights(whole.model), atol=1e-5)


def test_its_evaluation_is_the_plain_trainer_s(lm, model, trainer):
    x, alignment = texts(6, 20), lm.Alignment(LENGTH, 5.0)
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


def test_the_same_seed_gives_the_same_weights_and_another_others(lm, trainer):
    found = []
    for seed in (0, 0, 1):
        trained = trainer(build(lm, "gpt2"), rows(texts(8, 20)), lm.Alignment(LENGTH, ALPHA, seed=seed))
        trained.train()
        found.append(weights(trained.model))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_resumed_run_ends_where_it_would_have(lm, trainer, tmp_path):
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    made = [trainer(build(lm, "gpt2"), rows(texts(8, 20)), lm.Alignment(LENGTH, ALPHA), **settings) for _ in range(2)]
    made[0].train()
    made[1].train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert torch.equal(weights(made[0].model), weights(made[1].model))


def test_offsets_and_places_are_drawn_from_all_that_fit(lm, trainer):
    made = trainer(build(lm, "llama"), rows(texts(1, 14)), lm.Alignment(LENGTH, ALPHA, low=0.25))
    tokens = torch.arange(14)[None]
    drawn = set()
    for _ in range(400):
        found = made._sample({"input_ids": tokens, "labels": tokens})
        assert torch.equal(found["input_ids"], found["labels"])
        text = found["input_ids"][0].tolist()
        assert text == list(range(text[0], text[0] + len(text)))
        drawn.add((len(text) - LENGTH, text[0]))
    assert drawn == {(extra, start) for extra in (2, 3, 4) for start in range(14 - LENGTH - extra + 1)}


def test_batches_that_do_not_fit_are_refused_in_one_line(lm, trainer):
    for data, line in [
        (rows(texts(4, 11)), "input_ids: have 11 tokens each; must be at least 12 for length=8 and offsets up to 4"),
        (rows(texts(4, 12), attention_mask=torch.tensor([0] + [1] * 11)), "attention_mask: has zeros"),
        (rows(texts(4, 12), inputs_embeds=torch.ones(12)), "batch: has inputs_embeds; may have labels, attention"),
        (rows(texts(4, 12), position_ids=torch.arange(12)), r"position_ids: have shape \(4, 12\); must have \(4, 8\)"),
    ]:
        with pytest.raises(InputError, match=f"^{line}.*$"):
            trainer(build(lm, "llama"), data, lm.Alignment(LENGTH, ALPHA, high=0.5, low=0.5)).train()


def test_settings_that_would_replace_the_loss_are_refused(lm, trainer, tmp_path):
    with pytest.raises(InputError, match="^label_smoothing_factor=0.1: must be 0 for AlignedTrainer$"):
        trainer(build(lm, "llama"), [], lm.Alignment(LENGTH, ALPHA), label_smoothing_factor=0.1)
    args = lm.hf.TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    with pytest.raises(InputError, match="^compute_loss_func: is given; must be None, since .*$"):
        lm.AlignedTrainer(build(lm, "llama"), args, compute_loss_func=min, alignment=lm.Alignment(LENGTH, ALPHA))
