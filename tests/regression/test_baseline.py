import pytest

from support.configs import config
from synthlab.regression.evaluation import constant_loss


def test_constant_loss_by_hand():
    # lengths 1 to 10, all alike: (10^2 - 1) / 12
    assert constant_loss(config("task=length")) == pytest.approx(8.25)
    # 1 / l for l = 1, 2: the variance of 1 and 1/2
    two = config("task=length", "outrep=reciprocal", "outrep.shift=0", "train_length=2")
    assert constant_loss(two) == pytest.approx(1 / 16)
    # the longest alone: no variance
    assert constant_loss(config("task=length", "length_distribution=longest")) == pytest.approx(0)


def test_loss_of_fair_bits_by_theory():
    # 0.25 / l for each length, all means being 1/2. An error of 5 standard errors (1 % each) is met once in a million.
    expected = sum(0.25 / l for l in range(1, 11)) / 10  # noqa: E741
    assert constant_loss(config("task=mean")) == pytest.approx(expected, rel=0.05)
