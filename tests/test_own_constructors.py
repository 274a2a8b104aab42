"""A class of the user whose constructor does not take what the lab gives it is refused: the line says what that is."""

import pytest

from support.configs import composed
from synthlab.config.base import OPTIMIZER_CALL, resolve
from synthlab.config.composition import conf_dir
from synthlab.config.registry import Registry
from synthlab.errors import InputError
from synthlab.language.construction import GROUPS as OF_LANGUAGES
from synthlab.regression.construction import GROUPS as OF_NUMBERS
from synthlab.sequences.construction import GROUPS as OF_SEQUENCES
from synthlab.sweeps.trackers import TRACKERS, tracker_of

SIZES = ("train_length=8", "test_length=16", "model.width=16", "model.heads=2", "model.depth=1")
MODEL = "(make_encoding, generators, vocabulary, /, **settings)"
CASES = [
    ("mean", "encoding", "WithoutDims", "WithoutDims(dims, /, **settings), and takes (strength=1.0)"),
    ("copy", "encoding", "WithoutDims", "WithoutDims(dims, /, **settings), and takes (strength=1.0)"),
    ("text", "extension", "WithoutDims", "WithoutDims(dims, /, **settings), and takes (strength=1.0)"),
    ("mean", "encoding", "NamedDims", "NamedDims(dims, /, **settings), and takes (dims, strength=1.0)"),
    ("mean", "model", "LSTM", "LSTM(make_encoding, generators, /, **settings), and takes (width=8)"),
    ("copy", "model", "LSTM", f"LSTM{MODEL}, and takes (width=8)"),
    ("text", "model", "LSTM", f"LSTM{MODEL}, and takes (width=8)"),
    ("mean", "outrep", "Map", "Map(shift=..., **settings), and takes (scale)"),
    ("mean", "outrep", "Shiftless", "Shiftless(shift=..., **settings), and takes (scale=1.0)"),
    ("mean", "task", "Number", "Number(**settings), and takes (dims, /)"),
    ("copy", "task", "Answer", "Answer(**settings), and takes (symbols)"),
    ("text", "task", "Tokens", "Tokens(**settings), and takes (dims, /)"),
    ("mean", "inputs", "Inputs", "Inputs(**settings), and takes (dims, /)"),
    ("text", "positions", "Sampler", "Sampler(**settings), and takes (dims, /)"),
]


def refuse(task, field, member):
    raw = composed(f"task={task}", *SIZES)
    raw[field] = member
    with pytest.raises(InputError) as refused:
        resolve(raw)
    (line,) = refused.value.lines
    return line


@pytest.mark.parametrize(("task", "field", "name", "call"), CASES)
def test_a_constructor_of_other_arguments_is_told_how_it_is_called(task, field, name, call):
    line = refuse(task, field, {"name": f"support.unfit_constructors:{name}"})
    assert line.startswith((f"{field}=support.unfit_constructors:{name}: ", f"{field}."))
    assert line.endswith(f"; it is called as {call}; see docs/extending.md")


def test_an_optimizer_and_a_tracker_too():
    protocol = composed("task=mean")["protocol"] | {"optimizer": "support.unfit_constructors:Optimizer"}
    line = refuse("mean", "protocol", protocol)
    call = "Optimizer(parameters, lr=..., **protocol.options), and takes (params, momentum=0.9)"
    assert line.startswith("protocol.optimizer=support.unfit_constructors:Optimizer: cannot be made (")
    assert line.endswith(f"; it is called as {call}; see docs/extending.md")
    with pytest.raises(InputError, match=r"; it is called as Quiet\(\*\*settings\), and takes \(dims, /\); see docs"):
        tracker_of({"name": "support.unfit_constructors:Quiet"})


def test_an_encoding_needs_no_constructor():
    raw = composed("task=mean", *SIZES)
    raw["encoding"] = {"name": "support.unfit_constructors:NoConstructor"}
    assert resolve(raw).encoding["name"] == "support.unfit_constructors:NoConstructor"


def test_the_page_on_extending_has_every_call():
    page = (conf_dir().parent / "docs" / "extending.md").read_text()
    kinds: list[Registry] = [*OF_NUMBERS.values(), *OF_SEQUENCES.values(), *OF_LANGUAGES.values(), TRACKERS]
    assert all(f"`{call}`" in page for call in {OPTIMIZER_CALL, *(kind.call for kind in kinds)})
