import importlib
import sys

import pytest

from synthlab.errors import InputError, format_error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\n  b\t"), "ValueError: a b"),
        (AssertionError(), "AssertionError"),
        (MemoryError("a"), "MemoryError: there is not enough memory; a smaller model, batch or length takes less"),
    ],
)
def test_an_error_in_one_line(error, line):
    assert format_error(error) == line


def test_a_problem_is_one_short_line():
    assert InputError("task=a\nb: unknown").lines == (r"task=a\nb: unknown",)
    [line] = InputError(f"task={'x' * 10**5}: must be a name").lines
    assert line.startswith("task=xx")
    assert line.endswith("xx: must be a name")
    assert len(line) < 400


MODULES = ("bridge", "lora")


@pytest.mark.parametrize("name", [f"synthlab.huggingface.{name}" for name in MODULES])
def test_a_missing_package_is_named(monkeypatch, name):
    package, extra = ("peft", "extend") if name.endswith("lora") else ("transformers", "lm")
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name}: needs {package}; pip install -e '.\[{extra}\]'$"):
        importlib.import_module(name)
