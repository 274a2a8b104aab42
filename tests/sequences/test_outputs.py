"""The distribution of outputs over lengths."""

import pytest
import torch

from support.configs import small_sequences as small
from synthlab.sequences.evaluation import Outputs
from synthlab.sequences.tasks import TASKS

SAID = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.3, 0.7], [0.1, 0.9]])
WANTED = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def test_shifts_by_hand():
    config = small("train_from=1", "train_length=2", "bins=[[3,4]]", "test_length=4")
    outputs = Outputs([1, 2, 3, 4], SAID, WANTED)
    # A quarter of two training lengths is the longest of them alone, where both tokens were said alike.
    assert outputs.shifts(3, 4, config) == pytest.approx({"shift": 0.3, "target_shift": 0.5})
    assert outputs.shifts(2, 2, config) == {"shift": 0, "target_shift": 0}
    assert outputs.shifts(1, 2, config) == pytest.approx({"shift": 0.25, "target_shift": 0})


def test_shifts_are_from_the_longest_quarter():
    config = small("train_from=1", "train_length=8", "test_length=9", "bins=[[9,9]]")
    said = torch.eye(9)
    found = Outputs(range(1, 10), said, said).shifts(9, 9, config)
    assert found == pytest.approx({"shift": 1, "target_shift": 1})
    assert Outputs(range(1, 10), said, said).shifts(8, 8, config)["shift"] == pytest.approx(0.5)  # of 7 and 8


@pytest.mark.parametrize("name", TASKS)
def test_targets_are_distributions(name):
    problem = TASKS.build(small(f"task={name}").task)
    lengths = torch.tensor(problem.lengths(1, 8))
    batch = problem.batch(lengths, problem.width(8), torch.Generator().manual_seed(0))
    wanted = problem.target_distribution(batch)
    assert torch.allclose(wanted.sum(-1)[batch.scored], torch.ones(int(batch.scored.sum()), dtype=wanted.dtype))
    logits = torch.randn(*wanted.shape, generator=torch.Generator().manual_seed(1)) * 300
    said = problem.predict_distribution(logits)
    assert torch.allclose(said.sum(-1), torch.ones(said.shape[:2]))
    assert problem.right(torch.where(wanted > 0, 1.0, -1.0), batch)[batch.scored].all()
