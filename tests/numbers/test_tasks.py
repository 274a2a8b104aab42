"""Number tasks and the distributions of their inputs."""

import pytest
import torch

from support.configs import composed
from support.frequencies import generator
from synthlab.numbers.tasks import INPUTS, TASKS, Bernoulli, UniformCount

X = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0]])
LENGTH, BATCH = 12, 20_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean", [[1, 1 / 2, 2 / 3, 3 / 4], [0, 0, 0, 0]]),
        ("length", [[1, 2, 3, 4], [1, 2, 3, 4]]),
        ("sum", [[1, 1, 2, 3], [0, 0, 0, 0]]),
    ],
)
def test_targets_by_hand(name, expected):
    torch.testing.assert_close(TASKS[name]().targets(X), torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("name", TASKS)
def test_the_span_is_what_all_sequences_reach(name):
    task, length = TASKS[name](), 6
    x = torch.cartesian_prod(*[torch.tensor([0, 1])] * length)
    targets = task.targets(x)
    assert (targets.min().item(), targets.max().item()) == task.span(length)


@pytest.mark.parametrize("name", TASKS)
def test_targets_of_a_prefix_are_those_of_the_prefix_alone(name):
    task = TASKS[name]()
    torch.testing.assert_close(task.targets(X)[:, :2], task.targets(X[:, :2]))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_bernoulli_has_its_share_of_ones(p):
    x = Bernoulli(p=p).draw(BATCH, LENGTH, generator())
    assert set(x.unique().tolist()) <= {0, 1}
    assert x.double().mean().item() == pytest.approx(p, abs=0.005)


@pytest.mark.parametrize("prefix", [1, 3, LENGTH])
def test_uniform_count_is_uniform_at_every_prefix(prefix):
    x = UniformCount().draw(BATCH, LENGTH, generator())
    shares = torch.bincount(x[:, :prefix].sum(1), minlength=prefix + 1) / BATCH
    assert shares.tolist() == pytest.approx([1 / (prefix + 1)] * (prefix + 1), abs=0.01)


@pytest.mark.parametrize("name", INPUTS)
def test_every_distribution_is_exchangeable(name):
    x = INPUTS.build(composed(f"inputs={name}")["inputs"]).draw(BATCH, 3, generator())
    patterns = x @ torch.tensor([4, 2, 1])
    shares = torch.bincount(patterns, minlength=8) / BATCH
    one_one, two_ones = shares[[1, 2, 4]], shares[[3, 5, 6]]
    assert one_one.tolist() == pytest.approx([one_one.mean().item()] * 3, abs=0.01)
    assert two_ones.tolist() == pytest.approx([two_ones.mean().item()] * 3, abs=0.01)
