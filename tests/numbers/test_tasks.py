import pytest
import torch

from synthlab.numbers.tasks import TASKS

X = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0]])


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
