import itertools
import math
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.long_short_alignment.scalar import (
    OUTPUTS,
    ScalarRun,
    least_length,
    measure_misalignment,
    pairwise,
    scale_by_deviation,
    suffix_lengths,
)
from support.configs import QUICK
from synthlab.rng import stream
from synthlab.runs.composition import compose, to_overrides
from synthlab.runs.run import resolve
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import ensure
from synthlab.training.execution import execute

VALUES = st.floats(-100, 100, width=32)


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


PAIRS = st.integers(1, 5).flatmap(
    lambda size: st.tuples(*[st.lists(VALUES, min_size=size, max_size=size).map(double)] * 2)
)


@cache
def config(*overrides: str) -> ScalarRun:
    return resolve(compose([*to_overrides(QUICK), *overrides]) | {"family": "scalar"})


@given(PAIRS)
def test_wasserstein_is_the_best_assignment(samples):
    a, b = samples
    best = min((a - double(order)).abs().mean().item() for order in itertools.permutations(b.tolist()))
    assert pairwise(torch.stack([a, b], 1))[0, 1].item() == pytest.approx(best, abs=1e-12)


def test_scale_and_offset_do_not_matter():
    z = torch.randn(50, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + torch.arange(3)
    value = pairwise(z).mean().item()
    for other in (1000 * z, -0.001 * z, z + 10):
        assert scale_by_deviation(pairwise(other).mean().item(), other) == pytest.approx(scale_by_deviation(value, z))
    assert scale_by_deviation(0.0, torch.full((4, 3), 0.1)) == 0


@pytest.mark.parametrize(("length", "least"), [(1, 1), (2, 1), (3, 2), (10, 5), (11, 6)])
def test_suffix_lengths(length, least):
    assert least_length(length) == least
    lengths = suffix_lengths(400, length, stream(0, "windows"))
    assert lengths.shape == (2, 400)
    assert lengths.unique().tolist() == list(range(least, length + 1))


def test_all_four_by_hand():
    def sums(x):
        return x.cumsum(1).float()

    x = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 1]])
    z = sums(torch.cat((x, x), 1))  # only the first four are training lengths
    # After 2, 3 and 4 symbols: 2 1, 3 1, 3 2. Between 2 and 3: 1/2, between 3 and 4: 1/2, between 2 and 4: 1.
    between, deviation = 2 * 2 / 9, math.sqrt(28 / 6 - 2**2)
    # The last 2 of 1110 and all of it: 1 and 3. The last 3 of 1001 and all of it: 1 and 2.
    within, spread = 1.5, math.sqrt(15 / 4 - (7 / 4) ** 2)
    measured = measure_misalignment(z, sums, x, torch.tensor([[2, 3], [4, 4]]))
    assert measured == pytest.approx((between, between / deviation, within, within / spread))


@pytest.mark.parametrize("encoding", ["nope", "learned", "randomized"])  # none, a table, drawn for each sequence
def test_record_has_the_metrics_of_a_plain_run(encoding, tmp_path):
    run = config(f"encoding={encoding}", "task=sum", "outrep=rsqrt")
    same = resolve(run.model_dump() | {"family": "numbers"})
    assert same.id != run.id  # runs of two kinds are two runs
    plain = execute(same)
    store = Store(tmp_path)
    (record,) = ensure([run], store, progress=False)
    assert record.metrics.equals(plain.metrics)
    assert record.training.equals(plain.training)
    assert list(record.outputs) == list(OUTPUTS)
    assert record.outputs.equals(execute(run).outputs)  # to the last bit, after it was written and read
    assert isinstance(store.read(run.id).config, ScalarRun)
