"""A class of the user's: a constructor of other arguments is refused in one line; an exception names its setting."""

import pytest
from torch import nn

from support.configs import composed, config
from synthlab import Encoding
from synthlab.errors import InputError, format_error
from synthlab.numbers.outrep.fixed import Identity
from synthlab.numbers.tasks import Length
from synthlab.runs.run import resolve
from synthlab.training.execution import execute


class WithoutDims(Encoding):
    def __init__(self, strength: float = 1.0):
        super().__init__()


class LSTM(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()


class Shiftless(Identity):
    def __init__(self, scale: float = 1.0):
        self.scale = scale


@pytest.mark.parametrize(
    ("task", "field", "name"),
    [("mean", "encoding", "WithoutDims"), ("copy", "model", "LSTM"), ("mean", "outrep", "Shiftless")],
)
def test_a_constructor_of_other_arguments_is_refused(task, field, name):
    raw = composed(f"task={task}", "model.width=16", "model.heads=2", "model.depth=1")
    raw[field] = {"name": f"{__name__}:{name}"}
    with pytest.raises(InputError, match=rf"^{field}=\S+:{name}: .*docs/extending.md") as refused:
        resolve(raw)
    assert len(refused.value.lines) == 1


class NoSpan(Length):
    def span(self, length):
        raise KeyError("no\nspan")


class Careless(Encoding):
    def bias(self, query, key):
        return self.slope * (query - key)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (f"task={__name__}:NoSpan", "KeyError: 'no\\nspan'"),
        (f"encoding={__name__}:Careless", "AttributeError: 'Careless' object has no attribute 'slope'"),
    ],
)
def test_the_setting_of_a_class_that_fails_is_noted(setting, line):
    with pytest.raises((KeyError, AttributeError)) as raised:
        execute(config(setting))
    assert raised.value.__notes__ == [setting]
    assert format_error(raised.value).startswith(f"{setting}: {line}")
