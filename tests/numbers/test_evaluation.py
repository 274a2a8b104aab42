import numpy as np
import pytest
import torch

from support.configs import config
from support.models import model
from synthlab.models.layers import Member
from synthlab.numbers import evaluation
from synthlab.numbers.evaluation import constant_loss, measure_outputs, readouts
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.run import METRICS, horizon
from synthlab.numbers.tasks import TASKS, Bernoulli
from synthlab.rng import stream


class Constant(Member):
    encoding = model().encoding

    def __init__(self, value: float):
        self.value = value

    def __call__(self, x, positions=None):
        return torch.full(x.shape, self.value)


def tried(value: float, outrep: str) -> dict:
    x = evaluation.test_sequences(Bernoulli(p=0.5), 16, 4, seed=0)
    outputs = readouts(Constant(value), x, stream(0, "evaluation_positions"))
    return measure_outputs(outputs, x, TASKS["length"](), OUTREPS[outrep](shift=0.0), largest=100.0)


def test_metrics_of_a_constant_answer_by_hand():
    metrics = tried(3.0, "identity")
    assert set(metrics) == set(METRICS)
    assert metrics["mse"].tolist() == [4, 1, 0, 1]
    assert metrics["mse_rep"].tolist() == [4, 1, 0, 1]
    assert metrics["bias"].tolist() == [2, 1, 0, -1]
    assert metrics["relative_error"].tolist() == pytest.approx([2, 0.5, 0, 0.25])
    assert metrics["clipped"].tolist() == [0, 0, 0, 0]


def test_metrics_by_hand_through_a_map():
    metrics = tried(0.5, "rsqrt")  # 1/sqrt(4)
    assert metrics["mse"].tolist() == pytest.approx([9, 4, 1, 0])
    assert metrics["mse_rep"].tolist() == pytest.approx([(0.5 - k**-0.5) ** 2 for k in range(1, 5)])


def test_outputs_outside_the_image_are_clipped_and_counted():
    metrics = tried(-0.2, "rsqrt")
    assert metrics["clipped"].tolist() == [1, 1, 1, 1]
    assert metrics["bias"].tolist() == pytest.approx([99, 98, 97, 96])


@pytest.mark.parametrize("name", ["nope", "randomized"])
def test_readouts_in_parts_equal_those_of_one_pass(name, monkeypatch):
    net, x = Member(model(name), 0), Bernoulli(p=0.5).draw(20, 8, stream(0, "evaluation"))
    whole = readouts(net, x, stream(0, "evaluation_positions"))
    monkeypatch.setattr(evaluation, "ENTRIES", 3 * 8**2)
    torch.testing.assert_close(readouts(net, x, stream(0, "evaluation_positions")), whole)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [([0.01, 0.04, 0.05, 0.01], 2), ([0.06, 0.01], 0), ([0.01, 0.02], 2), ([0.01, float("nan")], 1)],
)
def test_horizon_by_hand(errors, expected):
    assert horizon(np.array(errors)) == expected


def test_constant_loss_by_hand():
    # lengths 1 to 10, all alike: (10^2 - 1) / 12
    assert constant_loss(config("task=length")) == pytest.approx(8.25)
    # 1 / l for l = 1, 2: the variance of 1 and 1/2
    two = config("task=length", "outrep=reciprocal", "outrep.shift=0", "train_length=2")
    assert constant_loss(two) == pytest.approx(1 / 16)
    # the longest alone: no variance
    assert constant_loss(config("task=length", "length_distribution=longest")) == pytest.approx(0)
    # fair bits, all means being 1/2: 0.25 / l for each length, and an error of 1 % or so
    assert constant_loss(config("task=mean")) == pytest.approx(sum(0.025 / k for k in range(1, 11)), rel=0.05)
