import math

import pytest
import torch

from support.configs import config
from synthlab.numbers.family import build_models
from synthlab.runs.run import Protocol
from synthlab.training.execution import fit
from synthlab.training.loop import Training, train_ensemble
from synthlab.training.optimizers import learning_rate

LAB = {"name": "test", "optimizer": "sgd", "lr": 0.1, "momentum": 0.0, "beta2": 0.0, "steps": 10, "batch": 1}


def protocol(**changed) -> Protocol:
    return Protocol(**(LAB | {"warmup": 0.0, "record_every": 1} | changed))


def alone(w: torch.nn.Parameter, loss, how: Protocol, observe=None) -> Training:
    """The training of one model with one parameter."""
    return train_ensemble([w], lambda: loss().reshape(1), [how], observe)[0]


HALF_COSINE = [0.5 * (1 + math.cos(math.pi * i / 4)) for i in range(4)]


@pytest.mark.parametrize(
    ("schedule", "warmup", "rates"),
    [
        ("cosine", 0.0, HALF_COSINE),
        ("cosine", 1.0, [0.25, 0.5, 0.75, 1.0]),
        ("linear", 1 / 3, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]),
        ("constant", 1 / 3, [0.5, *[1.0] * 5]),
    ],
)
def test_schedules_by_hand(schedule, warmup, rates):
    how = protocol(lr=1.0, steps=len(rates), warmup=warmup, schedule=schedule)
    assert [learning_rate(step, how) for step in range(1, len(rates) + 1)] == pytest.approx(rates)


def test_sgd_follows_the_gradient_by_hand():
    w = torch.nn.Parameter(torch.tensor(1.0))
    training = alone(w, lambda: w.square(), protocol(steps=2, lr=0.1))
    # lr 0.1: w = 1 - 0.1 * 2 = 0.8; then lr 0.05: w = 0.8 - 0.05 * 1.6 = 0.72
    assert w.item() == pytest.approx(0.72)
    assert training.losses == pytest.approx([1.0, 0.64])
    assert training.steps == [1, 2]


def test_sgd_has_momentum():
    w = torch.nn.Parameter(torch.tensor(0.0))
    alone(w, lambda: w, protocol(steps=2, lr=0.1, momentum=0.5))
    # velocity 1, then 0.5 + 1; lr 0.1, then 0.05
    assert w.item() == pytest.approx(-0.1 - 0.05 * 1.5)


def test_adam_follows_its_two_averages_by_hand():
    w, gradients = torch.nn.Parameter(torch.tensor(0.0)), iter([1.0, 3.0])
    alone(w, lambda: next(gradients) * w, protocol(optimizer="adam", momentum=0.8, beta2=0.5, steps=2, lr=0.1))
    mean = (0.8 * 0.2 * 1 + 0.2 * 3) / (1 - 0.8**2)
    square = (0.5 * 0.5 * 1 + 0.5 * 9) / (1 - 0.5**2)
    assert w.item() == pytest.approx(-0.1 - 0.05 * mean / square**0.5, rel=1e-5)


def test_parameters_that_the_last_step_ruins_are_noticed():
    w = torch.nn.Parameter(torch.tensor(1.0))
    assert alone(w, lambda: 1e30 * w, protocol(steps=1, lr=1e30)).diverged_at == 1


def test_the_curve_averages_between_its_points():
    values, seen = iter(range(1, 8)), []
    w = torch.nn.Parameter(torch.tensor(0.0))
    seven = protocol(steps=7, record_every=3)
    training = alone(w, lambda: 0 * w + next(values), seven, lambda *point: seen.append(point))
    assert training.steps == [3, 6, 7]
    assert training.losses == [2.0, 5.0, 7.0]
    assert seen == [(3, [2.0]), (6, [5.0]), (7, [7.0])]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("at", [1, 4, 5])
def test_a_loss_that_is_not_finite_stops_training(bad, at):
    calls = iter(range(1, 100))
    w = torch.nn.Parameter(torch.tensor(0.0))

    def objective():
        return w + (bad if next(calls) == at else 1.0)

    training = alone(w, objective, protocol(steps=50, record_every=4))
    assert training.diverged_at == at
    assert training.steps == ([] if at <= 4 else [4])
    assert next(calls) <= 9  # it did not go on to the end


def test_models_side_by_side_have_learning_rates_of_their_own():
    rates = (0.1, 0.1, 0.4, 0.2)
    w = torch.nn.Parameter(torch.ones(4, 1))
    how = {"optimizer": "adam", "momentum": 0.5, "beta2": 0.9, "steps": 3}
    together = train_ensemble([w], lambda: w.square().sum(1), [protocol(lr=lr, **how) for lr in rates])
    for index, lr in enumerate(rates):
        single = torch.nn.Parameter(torch.ones(1))
        assert alone(single, lambda v=single: v.square(), protocol(lr=lr, **how)) == together[index]
        assert single.item() == w[index].item()
    assert len({value.item() for value in w}) == 3


def test_a_model_that_diverges_leaves_the_others_alone():
    w, calls = torch.nn.Parameter(torch.ones(3, 2)), iter(range(1, 100))

    def losses():
        return w.square().sum(1) + torch.tensor([0.0, math.nan if next(calls) == 3 else 0.0, 0.0])

    seen = []
    how = protocol(steps=6, record_every=2)
    trainings = train_ensemble(
        [w], losses, [how] * 3, lambda step, now: seen.append([math.isnan(loss) for loss in now])
    )
    assert [training.diverged_at for training in trainings] == [None, 3, None]
    assert [training.steps for training in trainings] == [[2, 4, 6], [2], [2, 4, 6]]
    assert trainings[0] == trainings[2]
    assert seen == [[False] * 3, [False, True, False], [False, True, False]]


def test_learned_positions_beyond_training_stay_at_their_initial_values():
    run = config("encoding=learned", "train_length=5")
    before, after = (ensemble.encoding.vectors[0] for ensemble in (build_models([run]), fit([run])[0]))
    assert (before[7:] == after[7:]).all()
    assert (before[:7] != after[:7]).any(1).all()
