"""Tasks without the end of their answers: what is scored, by hand, and which tasks cannot be asked so."""

import pytest
import torch

from synthlab.errors import InputError
from synthlab.sequences.tasks import TASKS


def without_end(**of):
    return TASKS.build({"name": "without_end", "of": of})


def test_only_the_end_is_not_scored():
    task, inner = without_end(name="reverse", symbols=2), TASKS.build({"name": "reverse", "symbols": 2})
    lengths = torch.tensor([1, 3])
    batch, with_end = (each.batch(lengths, each.width(3), torch.Generator().manual_seed(0)) for each in (task, inner))
    assert torch.equal(batch.tokens, with_end.tokens)
    assert torch.equal(batch.targets, with_end.targets)
    # begin, prompt, separator, answer: what follows the separator is asked for, and what follows the answer is not.
    assert batch.scored.int().tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0]]
    assert (with_end.scored.int() - batch.scored.int()).tolist() == [[0, 0, 0, 1, 0, 0, 0, 0], [0] * 7 + [1]]


def test_a_formal_language_is_refused():
    with pytest.raises(InputError, match="^task.of=aa_star: "):
        without_end(name="aa_star")
