"""Adapters of low rank in the second training of language models."""

import torch

from support.configs import small
from synthlab.finetuning.adapters import AdaptedModel, LoRA, nearest_normal_float
from synthlab.language.training import build_adapters, build_extension, build_models, train_models
from synthlab.training.execution import execute

LATER = ("extension=pi", "finetune.steps=4", "finetune.lr=0.05", "task=hidden_markov")
TOKENS = torch.arange(8).view(1, 1, -1)


def lora(*overrides: str, seed: int = 0):
    return small(*LATER, "lora=lora", "lora.rank=2", *overrides, f"seed={seed}")


def train_first(config):
    ensemble = build_models([config])
    config = config.model_copy(update={"finetune": config.finetune.model_copy(update={"steps": 0}), "lora": None})
    train_models(ensemble, [config])
    return ensemble


def changes(config) -> dict[str, torch.Tensor]:
    first, second = train_first(config), build_models([config])
    train_models(second, [config])
    pairs = zip(first.named_parameters(), second.parameters(), strict=True)
    return {name: (after - start).detach()[0] for (name, start), after in pairs}


def test_only_adapted_weights_change():
    found = changes(lora("lora.layers=[queries,mlp]"))
    adapted = {name for name in found if name.endswith("queries.weight") or ("mlp" in name and "weight" in name)}
    assert len(adapted) == 3
    for name, change in found.items():
        if name in adapted:
            assert torch.linalg.matrix_rank(change, rtol=1e-3) == 2
        else:
            assert not change.any()


def test_embeddings_and_norms_can_be_trained():
    found = changes(lora("lora.train=[embeddings,norms]", "lora.layers=[output]"))
    trained = {name for name, change in found.items() if change.any()}
    norms = {name for name in found if name.endswith((".scale", ".shift"))}
    assert len(norms) == 6
    assert trained == {"token_embeddings", "blocks.0.attention.output.weight"} | norms


def test_training_begins_at_the_model_itself():
    config = lora()
    ensemble = train_first(config)
    ensemble.encoding = build_extension([config])
    adapted = build_adapters(ensemble, [config])
    assert torch.equal(adapted(TOKENS), ensemble(TOKENS))


def test_a_merged_model_answers_as_its_adapters():
    ensemble = train_first(lora())
    generators = [torch.Generator().manual_seed(0)]
    adapted = AdaptedModel(ensemble, LoRA(3, 6.0, ["keys_values", "head"], [], "full"), generators)
    plain = {name: parameter.detach().clone() for name, parameter in ensemble.named_parameters()}
    for a, b in adapted.factors.values():
        b.data.normal_(generator=generators[0])
        assert a.abs().max() <= a.shape[1] ** -0.5
    answers = adapted(TOKENS)
    adapted.merge()
    assert torch.equal(ensemble(TOKENS), answers)
    a, b = adapted.factors["head.weight"]
    torch.testing.assert_close(ensemble.head.weight, plain["head.weight"] + 2 * a @ b)


def test_a_base_of_4_bits_is_quantized_before_training():
    config = lora("lora.base=nf4")
    ensemble = train_first(config)
    adapted = build_adapters(ensemble, [config])
    for name, weight in adapted.base.items():
        assert torch.equal(weight, nearest_normal_float(ensemble.get_parameter(name).detach()))
    assert len(adapted.base) == 3
    assert not execute(config).metrics.equals(execute(lora()).metrics)
