import importlib
import sys

import pytest

from synthlab.errors import InputError, format_error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\n  b\t"), "ValueError: a b"),
        (KeyError("name"), "KeyError: 'name'"),
        (AssertionError(), "AssertionError"),
        (MemoryError("a"), "MemoryError: there is not enough memory; a smaller model, batch or length takes less"),
    ],
)
def test_an_error_in_one_line(error, line):
    assert format_error(error) == line


def test_a_problem_is_one_line_of_bounded_length_whatever_value_it_repeats():
    assert InputError("task=a\nb: unknown").lines == (r"task=a\nb: unknown",)
    [line] = InputError(f"task={'x' * 10**5}: must be a name").lines
    assert line.startswith("task=xx")
    assert line.endswith("xx: must be a name")
    assert len(line) < 400


MODULES = ("aligned_trainer", "bridge", "bridge_config", "clex", "collator", "lora", "relative_maps", "tokenizer")


@pytest.mark.parametrize("name", [f"synthlab.huggingface.{name}" for name in MODULES])
def test_without_the_package_that_a_module_needs_one_line_says_what_to_install(monkeypatch, name):
    package, extra = ("peft", "extend") if name.endswith("lora") else ("transformers", "lm")
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name}: needs {package}; pip install -e '.\[{extra}\]'$"):
        importlib.import_module(name)
