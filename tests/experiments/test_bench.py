"""``make bench`` at its quickest, and what it measures against."""

import pytest
import torch

from experiments.bench import __main__ as bench
from experiments.bench import probes
from experiments.bench.baselines import CausalBaseline
from synthlab.numbers.family import build_models


@pytest.mark.parametrize("overrides", [[], bench.LARGE])
def test_baseline_equals_packed_model(overrides):
    config = probes.compose_run(*overrides)
    stack = build_models([config, config.with_seeds({"seed": 1})])
    x = torch.randint(0, 2, (2, 5, 7), generator=torch.Generator().manual_seed(0))
    packed = stack(x)
    for length in (1, 4, 7):
        plain = CausalBaseline(stack)(x[0, :, :length])
        torch.testing.assert_close(plain, packed[0, :, length - 1], rtol=1e-4, atol=1e-5)
