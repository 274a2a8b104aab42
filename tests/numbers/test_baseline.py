import pytest

from support.configs import config
from synthlab.numbers.evaluation import constant_loss


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
