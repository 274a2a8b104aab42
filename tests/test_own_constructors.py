"""A class of the user's whose constructor takes other arguments is refused in a line that says how it is called."""

import pytest
from torch import nn

from support.configs import composed
from synthlab import Encoding
from synthlab.errors import InputError
from synthlab.language.family import GROUPS as OF_LANGUAGES
from synthlab.numbers.family import GROUPS as OF_NUMBERS
from synthlab.numbers.outrep.fixed import Identity
from synthlab.runs.composition import conf_dir
from synthlab.runs.registry import Registry
from synthlab.runs.run import OPTIMIZER_CALL, resolve
from synthlab.sequences.family import GROUPS as OF_SEQUENCES
from synthlab.sweeps.trackers import TRACKERS


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
    ("task", "field", "name", "call"),
    [
        ("mean", "encoding", "WithoutDims", "WithoutDims(dims, /, **settings), and takes (strength=1.0)"),
        ("text", "extension", "WithoutDims", "WithoutDims(dims, /, **settings), and takes (strength=1.0)"),
        ("copy", "model", "LSTM", "LSTM(make_encoding, generators, vocabulary, /, **settings), and takes (width=8)"),
        ("mean", "outrep", "Shiftless", "Shiftless(shift=..., **settings), and takes (scale=1.0)"),
    ],
)
def test_a_constructor_of_other_arguments_is_refused(task, field, name, call):
    raw = composed(f"task={task}", "model.width=16", "model.heads=2", "model.depth=1")
    raw[field] = {"name": f"{__name__}:{name}"}
    with pytest.raises(InputError) as refused:
        resolve(raw)
    (line,) = refused.value.lines
    assert line.startswith(f"{field}={__name__}:{name}: ")
    assert line.endswith(f"; it is called as {call}; see docs/extending.md")


def test_an_encoding_needs_no_constructor():
    own = f"{__name__}:NoConstructor"
    assert resolve(composed("task=mean") | {"encoding": {"name": own}}).encoding["name"] == own


def test_the_page_on_extending_has_every_call():
    page = (conf_dir().parent / "docs" / "extending.md").read_text()
    kinds: list[Registry] = [*OF_NUMBERS.values(), *OF_SEQUENCES.values(), *OF_LANGUAGES.values(), TRACKERS]
    assert all(f"`{call}`" in page for call in {OPTIMIZER_CALL, *(kind.call for kind in kinds)})
