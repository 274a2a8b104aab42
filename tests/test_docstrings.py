"""The docstrings of what users call and subclass: complete, and their examples are true."""

import doctest
import importlib
import inspect
from operator import attrgetter

import pytest

FUNCTIONS = [
    "synthlab:run",
    "synthlab:train",
    "synthlab:load_model",
    "synthlab:load_records",
    "synthlab.compare:compare",
    "synthlab.collect:collect",
    "synthlab.alignment.misalignment:misalignment",
    "synthlab.alignment.regularizer:aligned_loss",
    "synthlab.huggingface.benchmarks.synthetic:samples",
    "theory:optimum",
    "theory:paper_optimum",
]
CLASSES = [
    "synthlab:Records",
    "synthlab:Record",
    "synthlab:TrainedModel",
    "synthlab:InputError",
    "synthlab:RunsFailed",
    "synthlab:Encoding",
    "synthlab:Task",
    "synthlab:InputDistribution",
    "synthlab:OutRep",
    "synthlab:Interval",
    "synthlab:Tracker",
    "synthlab.positions.sampler_base:PositionSampler",
    "synthlab.positions.cream:Cream",
    "synthlab.positions.samplers:Offset",
    "synthlab.positions.samplers:RandPos",
    "synthlab.positions.samplers:PoSE",
    "synthlab.positions.samplers:ClexPositions",
]
METHODS = [
    "synthlab:TrainedModel.hooked",
    "synthlab:TrainedModel.run_with_cache",
    "synthlab:TrainedModel.run_with_hooks",
    "synthlab:TrainedModel.plot_attention",
    "synthlab:TrainedModel.plot_error",
]
# Not part of what ``synthlab`` exports, but with examples.
OTHERS = [
    "synthlab.huggingface.benchmarks.draws:Draws",
    "synthlab.huggingface.lora:with_lora",
    "synthlab.huggingface.clex:with_clex",
    "synthlab.huggingface.collator:PositionCollator",
    "synthlab.huggingface.benchmarks.synthetic:share_of_answers",
    "synthlab.models.encodings.clex:CLEX",
    "synthlab.models.encodings.length_rope:DynamicNTK",
]


def find(name: str):
    module, _, attribute = name.partition(":")
    return attrgetter(attribute)(importlib.import_module(module))


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *METHODS, *OTHERS])
def test_examples_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "huggingface" in name:
        pytest.importorskip("peft" if "lora" in name else "transformers")
    found = find(name)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(found), {}, name, None, 0)
    assert example.examples, "has no example"
    lines: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=lines.append)
    assert not outcome.failed, "".join(lines)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_return_and_raise(name):
    found = find(name)
    text = inspect.getdoc(found)
    for section in ("Args:", "Returns:", "Raises:", "Example:"):
        assert f"\n{section}\n" in text, section
    arguments = text.partition("\nArgs:\n")[2].partition("\nReturns:\n")[0]
    for parameter in inspect.signature(found).parameters:
        assert f"    {parameter}: " in arguments.replace("**", ""), parameter


def test_all_that_is_exported_is_there():
    package = importlib.import_module("synthlab")
    assert {"run", "load_records", "Encoding", "Task", "InputDistribution", "OutRep", "Tracker"} <= set(package.__all__)
    assert all(getattr(package, name).__doc__ for name in package.__all__)
