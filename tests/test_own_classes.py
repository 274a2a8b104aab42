"""A class of the user's own whose hook raises, or answers nonsense, is refused in one line before anything is built."""

import pytest

from support.configs import composed
from support.unsound_hooks import GIVEN, KINDS
from synthlab.config.base import BOOKKEEPING
from synthlab.config.registry import asking
from synthlab.errors import InputError
from synthlab.language.construction import resolve as resolve_language
from synthlab.regression.construction import resolve as resolve_regression
from synthlab.sequences.construction import resolve as resolve_sequences
from synthlab.studies.overrides import NOT_RUNS

RESOLVE = {"config": resolve_regression, "language": resolve_language, "sequences": resolve_sequences}
SIZES = ("train_length=8", "test_length=16", "model.width=16", "model.heads=2", "model.depth=1")
ENCODING = ("longest", "alike_up_to", "draws_positions", "depends_on_length")
SAMPLER = ("reach", "text_length", "window", "positions")
PROBLEM = ("symbols", "vocabulary", "shortest", "longest", "has", "lengths", "width", "chance")
HOOKS = {
    ("config", "task", "UnsoundTask"): ("span", "targets"),
    ("config", "encoding", "UnsoundEncoding"): ENCODING,
    ("language", "task", "UnsoundLanguage"): ("vocabulary", "draw", "completed"),
    ("language", "encoding", "UnsoundEncoding"): ENCODING,
    ("language", "extension", "UnsoundExtension"): ENCODING,
    ("language", "positions", "UnsoundSampler"): SAMPLER,
    ("sequences", "task", "UnsoundProblem"): PROBLEM,
    ("sequences", "encoding", "UnsoundEncoding"): ENCODING,
    ("sequences", "positions", "UnsoundSampler"): SAMPLER,
}
SOUND = {("longest", "huge"), ("alike_up_to", "huge"), ("text_length", "none"), ("symbols", "text")}
CASES = [
    (*where, hook, kind)
    for where, hooks in HOOKS.items()
    for hook in hooks
    for kind in KINDS
    if (hook, kind) not in SOUND
]
# What initialise returns is nobody's concern.
CASES += [
    (*where, "initialise", kind)
    for where in HOOKS
    for kind in KINDS
    if where[1] in ("encoding", "extension") and kind not in GIVEN
]


@pytest.mark.parametrize(("config", "field", "name", "hook", "kind"), CASES)
def test_a_hook_that_raises_or_answers_nonsense_is_refused(config, field, name, hook, kind):
    raw = dict(composed(*SIZES, name=config))
    raw = {key: value for key, value in raw.items() if key not in ("suite", "study", *NOT_RUNS, *BOOKKEEPING)}
    raw[field] = {"name": f"support.unsound_hooks:{name}", "broken": hook, "kind": kind}
    with pytest.raises(InputError) as refused:
        RESOLVE[config](raw)
    (line,) = refused.value.lines
    assert line.startswith(f"{field}=support.unsound_hooks:{name}: ")
    assert "\n" not in line


def test_ctrl_c_is_nobodys_nonsense():
    with pytest.raises(KeyboardInterrupt), asking("task", "mine:Task", "be made"):
        raise KeyboardInterrupt


def test_a_protocol_is_no_class():
    raw = composed(name="config")
    raw["protocol"]["name"] = "subprocess:Popen"
    with pytest.raises(InputError, match=r"^protocol.name=subprocess:Popen: must be the name of a protocol"):
        resolve_regression(raw)


def test_a_window_of_one_token_predicts_none():
    raw = {key: value for key, value in composed(name="language").items() if key not in ("study", *NOT_RUNS)}
    raw["finetune"]["length"] = 1
    with pytest.raises(InputError, match=r"^finetune.length=1: must be greater than or equal to 2"):
        resolve_language(raw)
