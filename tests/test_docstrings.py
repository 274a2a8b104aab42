"""The docstrings of what users call and subclass: complete, and their examples are true."""

import ast
import doctest
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUNCTIONS = [
    *("synthlab:run", "synthlab:train", "synthlab:load_model", "synthlab:load_records"),
    *("synthlab.compare:compare", "synthlab.collect:collect", "theory:optimum", "theory:paper_optimum"),
    *("synthlab.alignment.misalignment:misalignment", "synthlab.alignment.regularizer:aligned_loss"),
]


def examples() -> dict[str, str]:
    """All docstrings of the lab with examples, by file and name."""
    found = {}
    for path in sorted(path for package in ("synthlab", "theory") for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            if is_documented and ">>> " in (text := ast.get_docstring(node) or ""):
                found[f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}"] = text
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "huggingface" in name:
        pytest.importorskip("peft" if "lora" in name else "transformers")
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, 0)
    lines: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=lines.append)
    assert not outcome.failed, "".join(lines)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_return_and_raise(name):
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    text = inspect.getdoc(found)
    for section in ("Args:", "Returns:", "Raises:", "Example:"):
        assert f"\n{section}\n" in text, section
    arguments = text.partition("\nArgs:\n")[2].partition("\nReturns:\n")[0]
    for parameter in inspect.signature(found).parameters:
        assert f"    {parameter}: " in arguments.replace("**", ""), parameter


def test_all_that_is_exported_is_there_with_an_example():
    package = importlib.import_module("synthlab")
    assert {"run", "load_records", "Encoding", "Task", "InputDistribution", "OutRep", "Tracker"} <= set(package.__all__)
    without = {name for name in package.__all__ if ">>> " not in getattr(package, name).__doc__}
    assert without == {"Dims", "Prediction"}  # which come with others
