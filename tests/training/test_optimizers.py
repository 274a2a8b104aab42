"""Schedules, weight decay, gradient clipping, and optimizers of the user's own."""

import pytest
import torch

from support.configs import config
from synthlab.runs.run import Protocol
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import execute
from synthlab.training.loop import train_ensemble
from synthlab.training.optimizers import is_matrix, learning_rate

PLAIN = {"name": "test", "optimizer": "adamw", "lr": 0.1, "momentum": 0.9, "beta2": 0.99, "steps": 6, "batch": 1}
INPUTS, TARGETS = torch.arange(24.0).view(8, 3) / 8, torch.linspace(-1, 1, 16).view(8, 2)


def protocol(**changed) -> Protocol:
    return Protocol(**(PLAIN | {"warmup": 0.0, "record_every": 1} | changed))


def weights(models: int) -> tuple[torch.nn.Parameter, torch.nn.Parameter]:
    """A weight and a bias of each model, all models alike."""
    weight = torch.linspace(-1, 1, 6).view(1, 3, 2).repeat(models, 1, 1)
    return torch.nn.Parameter(weight), torch.nn.Parameter(torch.full((models, 1, 2), 0.5))


def losses(weight, bias):
    return (INPUTS @ weight + bias - TARGETS).square().mean((1, 2))


@pytest.mark.parametrize(
    "how", [{"weight_decay": 0.5}, {"clip": 0.1}, {"weight_decay": 1.0, "clip": 0.5, "schedule": "linear"}], ids=str
)
def test_weight_decay_and_clipping_are_those_of_torch(how):
    weight, bias = weights(1)
    train_ensemble([weight, bias], lambda: losses(weight, bias), [protocol(**how)])
    theirs = weights(1)
    groups = [{"params": [theirs[0]], "weight_decay": how.get("weight_decay", 0.0)}, {"params": [theirs[1]]}]
    optimizer = torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.99), weight_decay=0.0)
    for step in range(1, 7):
        optimizer.zero_grad()
        losses(*theirs).sum().backward()
        if "clip" in how:
            torch.nn.utils.clip_grad_norm_(theirs, how["clip"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, protocol(**how))
        optimizer.step()
    torch.testing.assert_close((weight, bias), theirs)
    untouched = weights(1)
    train_ensemble(untouched, lambda: losses(*untouched), [protocol()])
    assert not torch.allclose(untouched[0], weight)


def test_gradients_are_clipped_for_each_model():
    scales = torch.tensor([1.0, 1000.0, 0.0])
    parameters = weights(3)
    how = protocol(optimizer="sgd", momentum=0.0, steps=1, clip=0.25)
    train_ensemble(parameters, lambda: losses(*parameters) * scales, [how] * 3)
    moved = [
        torch.cat([(new - old)[i].flatten() for new, old in zip(parameters, weights(3), strict=True)]).norm()
        for i in range(3)
    ]
    assert torch.stack(moved).tolist() == pytest.approx([0.025, 0.025, 0.0], rel=1e-4)  # lr x clip


def test_weight_decay_is_applied_to_matrices_and_embeddings():
    run = config("encoding=t5", "model.depth=2")
    ensemble = run.load_family().build_models([run, run])
    matrices = {name for name, parameter in ensemble.named_parameters() if is_matrix(parameter, 2)}
    others = {name for name, _ in ensemble.named_parameters()} - matrices
    assert {"token_embeddings", "head.2.weight"} <= matrices  # that of the head has one column
    assert {name.rpartition(".")[2] for name in others} == {"bias", "scale", "shift"}


def test_an_own_optimizer_trains_alone_and_follows_the_schedule():
    class_of_torch = ("protocol.optimizer=torch.optim:SGD", "protocol.options.momentum=0.5")
    how = ("protocol.steps=8", "protocol.clip=0.1", "protocol.schedule=linear")
    own = config(*class_of_torch, *how)
    ours = config("protocol.optimizer=sgd", "protocol.momentum=0.5", *how)
    assert execute(own).training["loss"].tolist() == pytest.approx(execute(ours).training["loss"].tolist())
    assert [len(part) for part in plan_ensembles([own, config(*class_of_torch, "seed=1")], 1)] == [1, 1]
    assert [len(part) for part in plan_ensembles([ours, ours], 1)] == [2]
