"""CREAM and CLEX in Transformers' ``Trainer`` and in ``AlignedTrainer``, on models of four kinds."""

from typing import Any

import pytest
import torch

from support import hf
from support.language_models import KINDS, LENGTH, labelled, logged, texts, tiny, trainer
from synthlab.longshort.misalignment import DISTANCES
from synthlab.longshort.windows import both_contexts
from synthlab.positions.samplers import ClexPositions, Cream

pytestmark = pytest.mark.slow

FACTOR, EXTRA, ALPHA = 4, 4, 0.5


def built(method: str, kind: str) -> tuple[Any, Any]:
    if method == "clex":
        return hf.clex.with_clex(tiny(kind, scale=5.0), factor=FACTOR), ClexPositions(factor=FACTOR)
    cream = Cream(factor=FACTOR, sigma=3.0, continuity=4, shared=1, limits="clamped", text=None)
    return tiny(kind, scale=5.0, rope_type="linear", factor=float(FACTOR)), cream


@pytest.mark.parametrize("aligned", [False, True], ids=["plain", "aligned"])
@pytest.mark.parametrize("method", ["cream", "clex"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_loss_by_hand_and_all_weights_move(kind, method, aligned, tmp_path):
    model, sampler = built(method, kind)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    seen: list[dict] = []
    model.register_forward_pre_hook(lambda _, __, given: seen.append(given), with_kwargs=True)
    alignment = hf.aligned_trainer.Alignment(LENGTH, ALPHA, low=EXTRA / LENGTH, high=0.25) if aligned else None
    collator = hf.collator.PositionCollator(sampler, length=LENGTH, seed=0)
    data = labelled(texts(4, LENGTH + EXTRA if aligned else LENGTH))
    trained = trainer(tmp_path, model, data, alignment, collator, max_steps=2, learning_rate=0.05)
    trained.train()
    tokens, positions = seen[0]["input_ids"], seen[0]["position_ids"]
    assert positions.max() == FACTOR * LENGTH - 1 if method == "cream" else positions[:, 0].eq(0).all()

    again = built(method, kind)[0]
    with torch.no_grad():
        mask = torch.ones_like(tokens)
        logits = again(input_ids=tokens, position_ids=positions, attention_mask=mask, use_cache=False).logits
        expected = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        if aligned:
            assert torch.equal(*positions.chunk(2))  # both windows of a text have the same positions
            early, late = both_contexts(LENGTH, EXTRA, LENGTH // 2)
            first, second = logits.chunk(2)
            apart = DISTANCES["sce"](first[:, early], second[:, late]).mean()
            assert logged(trained, "misalignment")[0] == pytest.approx(apart.item(), rel=1e-3)
            assert logged(trained, "training")[0] == pytest.approx(expected.item(), rel=1e-3)
            expected = expected + ALPHA * apart
    assert logged(trained, "loss")[0] == pytest.approx(expected.item(), rel=1e-3)

    # W_up gets a gradient once W_down, 0 at first, has moved. The key biases of softmax attention get none.
    still = {name for name, each in model.named_parameters() if torch.equal(each, before[name])}
    assert not {name for name in still if "bias" not in name}
