"""The examples in docstrings give what they show, and all that users import has one."""

import ast
import doctest
from pathlib import Path

import pytest

import synthlab

ROOT = Path(__file__).parents[1]


def find_examples() -> dict[str, str]:
    """The docstrings of the lab with examples, by file and name."""
    found = {}
    for path in sorted(path for package in ("synthlab", "theory") for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            if is_documented and ">>> " in (text := ast.get_docstring(node) or ""):
                found[f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}"] = text
    return found


EXAMPLES = find_examples()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "huggingface" in name else name for name in EXAMPLES]
)
def test_examples_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "huggingface" in name:
        pytest.importorskip("peft" if "lora" in name else "transformers")
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, 0)
    lines: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=lines.append)
    assert not outcome.failed, "".join(lines)


def test_everything_exported_has_an_example():
    without = {name for name in synthlab.__all__ if ">>> " not in getattr(synthlab, name).__doc__}
    assert without == {"Dims", "Prediction"}  # which come with others
