"""CREAM and CLEX in Transformers' ``Trainer`` and in ``AlignedTrainer``, on tiny random models of four kinds."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from support.language_models import KINDS, LENGTH, texts, tiny
from synthlab.alignment.divergence import DISTANCES
from synthlab.alignment.windows import both_contexts
from synthlab.positions.cream import Cream
from synthlab.positions.samplers import ClexPositions

pytestmark = pytest.mark.slow

FACTOR, EXTRA, ALPHA = 4, 4, 0.5


@pytest.fixture(scope="module")
def lm() -> SimpleNamespace:
    """Transformers, and what is tested here."""
    transformers = pytest.importorskip("transformers")
    from synthlab.huggingface.aligned_trainer import AlignedTrainer, Alignment
    from synthlab.huggingface.clex import with_clex
    from synthlab.huggingface.collator import PositionCollator

    given = {"AlignedTrainer": AlignedTrainer, "Alignment": Alignment, "PositionCollator": PositionCollator}
    return SimpleNamespace(hf=transformers, with_clex=with_clex, **given)


def built(lm, method: str, kind: str) -> tuple[Any, Any]:
    """The model and the sampler of a method."""
    if method == "clex":
        return lm.with_clex(tiny(kind, scale=5.0), factor=FACTOR), ClexPositions(factor=FACTOR)
    cream = Cream(factor=FACTOR, sigma=3.0, continuity=4, shared=1, limits="clamped", text=None)
    return tiny(kind, scale=5.0, rope_type="linear", factor=float(FACTOR)), cream


@pytest.fixture
def train(lm, tmp_path):
    """Train for some steps of plain gradient descent, and give the losses and the first batch as the model saw it."""

    def run(model, sampler, aligned: bool, steps: int, lr: float = 0.05):
        first: dict[str, torch.Tensor] = {}
        hook = model.register_forward_pre_hook(
            lambda _, __, given: None if first else first.update(given), with_kwargs=True
        )
        collator = lm.PositionCollator(sampler, length=LENGTH, seed=0)
        rows = [{"input_ids": text, "labels": text} for text in texts(4, LENGTH + EXTRA if aligned else LENGTH)]
        settings = {"max_steps": steps, "per_device_train_batch_size": 4, "learning_rate": lr, "optim": "sgd"}
        settings |= {"lr_scheduler_type": "constant", "max_grad_norm": 1.0, "logging_steps": 1, "report_to": []}
        quiet = {"save_strategy": "no", "use_cpu": True, "disable_tqdm": True, "dataloader_pin_memory": False}
        args = lm.hf.TrainingArguments(str(tmp_path), **settings, **quiet)
        kind, more = lm.hf.Trainer, {}
        if aligned:
            kind, more = lm.AlignedTrainer, {"alignment": lm.Alignment(LENGTH, ALPHA, low=EXTRA / LENGTH, high=0.25)}
        trainer = kind(model, args, train_dataset=rows, data_collator=collator, callbacks=[collator], **more)
        trainer.train()
        hook.remove()
        return [entry for entry in trainer.state.log_history if "loss" in entry], first

    return run


@pytest.mark.parametrize("aligned", [False, True], ids=["plain", "aligned"])
@pytest.mark.parametrize("method", ["cream", "clex"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_loss_is_that_computed_by_hand_and_all_weights_move(lm, train, kind, method, aligned):
    model, sampler = built(lm, method, kind)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    logged, seen = train(model, sampler, aligned, steps=2)
    tokens, positions = seen["input_ids"], seen["position_ids"]
    assert positions.max() == FACTOR * LENGTH - 1 if method == "cream" else positions[:, 0].eq(0).all()

    again = built(lm, method, kind)[0]
    with torch.no_grad():
        mask = torch.ones_like(tokens)
        logits = again(input_ids=tokens, position_ids=positions, attention_mask=mask, use_cache=False).logits
        expected = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        if aligned:
            assert torch.equal(*positions.chunk(2))  # both windows of a text have the same positions
            early, late = both_contexts(LENGTH, EXTRA, LENGTH // 2)
            first, second = logits.chunk(2)
            apart = DISTANCES["sce"](first[:, early], second[:, late]).mean()
            assert logged[0]["misalignment"] == pytest.approx(apart.item(), rel=1e-3)
            assert logged[0]["training"] == pytest.approx(expected.item(), rel=1e-3)
            expected = expected + ALPHA * apart
    assert logged[0]["loss"] == pytest.approx(expected.item(), rel=1e-3)

    # W_up gets a gradient once W_down, 0 at first, has moved. The key biases of softmax attention get none.
    still = {name for name, each in model.named_parameters() if torch.equal(each, before[name])}
    assert not {name for name in still if "bias" not in name}


@pytest.mark.parametrize("aligned", [False, True], ids=["plain", "aligned"])
@pytest.mark.parametrize("method", ["cream", "clex"])
def test_training_lowers_the_loss(lm, train, method, aligned):
    model, sampler = built(lm, method, "Llama")
    logged, _ = train(model, sampler, aligned, steps=12)
    losses = [entry["loss"] for entry in logged]
    assert sum(losses[-3:]) < sum(losses[:3]) - 0.3
