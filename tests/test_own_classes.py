"""A class of the user's own whose hook raises, or answers nonsense, is refused in one line before anything is built."""

from itertools import product

import pytest

from support.configs import composed
from support.unsound_hooks import GIVEN, KINDS
from synthlab.config.base import resolve
from synthlab.config.registry import catch_errors
from synthlab.errors import InputError

SIZES = ("train_length=8", "test_length=16", "model.width=16", "model.heads=2", "model.depth=1")
ENCODING = ("longest", "alike_up_to", "draws_positions", "initialise")
SAMPLER = ("reach", "text_length", "window", "positions")
PROBLEM = ("symbols", "vocabulary", "shortest", "longest", "has", "lengths", "width", "chance")
HOOKS = {
    ("mean", "task", "UnsoundTask"): ("span", "targets"),
    ("mean", "encoding", "UnsoundEncoding"): ENCODING,
    ("text", "task", "UnsoundLanguage"): ("vocabulary", "draw", "complete_arguments"),
    ("text", "encoding", "UnsoundEncoding"): ENCODING,
    ("text", "extension", "UnsoundExtension"): ENCODING,
    ("text", "positions", "UnsoundSampler"): SAMPLER,
    ("majority", "task", "UnsoundProblem"): PROBLEM,
    ("majority", "encoding", "UnsoundEncoding"): ENCODING,
    ("majority", "positions", "UnsoundSampler"): SAMPLER,
}
SOUND = {("longest", "huge"), ("alike_up_to", "huge"), ("text_length", "none")}
SOUND |= {("symbols", kind) for kind in ("text", "list")}
SOUND |= {("initialise", kind) for kind in GIVEN}  # what it returns is nobody's concern
CASES = [
    (*where, hook, kind)
    for where, hooks in HOOKS.items()
    for hook, kind in product(hooks, KINDS)
    if (hook, kind) not in SOUND
]


@pytest.mark.parametrize(("task", "field", "name", "hook", "kind"), CASES)
def test_a_hook_that_raises_or_answers_nonsense_is_refused(task, field, name, hook, kind):
    raw = composed(f"task={task}", *SIZES)
    raw[field] = {"name": f"support.unsound_hooks:{name}", "broken": hook, "kind": kind}
    with pytest.raises(InputError) as refused:
        resolve(raw)
    (line,) = refused.value.lines
    assert line.startswith(f"{field}=support.unsound_hooks:{name}: ")


def test_ctrl_c_is_nobodys_nonsense():
    with pytest.raises(KeyboardInterrupt), catch_errors("task", "mine:Task", "be made"):
        raise KeyboardInterrupt
