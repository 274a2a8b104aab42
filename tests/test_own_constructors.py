"""A class of the user's whose constructor takes other arguments is refused in one line."""

import pytest
from torch import nn

from support.configs import composed
from synthlab import Encoding
from synthlab.errors import InputError
from synthlab.numbers.outrep.fixed import Identity
from synthlab.runs.run import resolve


class WithoutDims(Encoding):
    def __init__(self, strength: float = 1.0):
        super().__init__()


class NoConstructor(Encoding):
    pass


class LSTM(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()


class Shiftless(Identity):
    def __init__(self, scale: float = 1.0):
        self.scale = scale


@pytest.mark.parametrize(
    ("task", "field", "name"),
    [
        ("mean", "encoding", "WithoutDims"),
        ("copy", "model", "LSTM"),
        ("mean", "outrep", "Shiftless"),
    ],
)
def test_a_constructor_of_other_arguments_is_refused(task, field, name):
    raw = composed(f"task={task}", "model.width=16", "model.heads=2", "model.depth=1")
    raw[field] = {"name": f"{__name__}:{name}"}
    with pytest.raises(InputError, match=rf"^{field}=\S+:{name}: .*docs/extending.md") as refused:
        resolve(raw)
    assert len(refused.value.lines) == 1


def test_an_encoding_needs_no_constructor():
    own = f"{__name__}:NoConstructor"
    assert resolve(composed("task=mean") | {"encoding": {"name": own}}).encoding["name"] == own
