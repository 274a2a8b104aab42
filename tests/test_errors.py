import importlib
import sys

import pytest

from synthlab.errors import describe_missing, format_error


@pytest.mark.parametrize(
    ("error", "line"), [(ValueError("a\n  b\t"), "ValueError: a b"), (AssertionError(), "AssertionError")]
)
def test_an_error_in_one_line(error, line):
    assert format_error(error) == line


def test_a_missing_extra_is_named_with_and_without_a_checkout(monkeypatch, tmp_path):
    assert describe_missing("tasks", "peft", "extend") == "tasks: needs peft; pip install -e '.[extend]'"
    (tmp_path / "conf").mkdir()  # as in a wheel
    monkeypatch.setattr("synthlab.errors.__file__", str(tmp_path / "errors.py"))
    assert describe_missing("tasks", "peft", "extend") == "tasks: needs peft; pip install 'synthlab-lengths[extend]'"


@pytest.mark.parametrize(("module", "package", "extra"), [("bridge", "transformers", "lm"), ("lora", "peft", "extend")])
def test_a_module_names_its_missing_package(monkeypatch, module, package, extra):
    if package != "transformers":
        pytest.importorskip("transformers")
    name = f"synthlab.huggingface.{module}"
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name}: needs {package}; pip install -e '.\[{extra}\]'$"):
        importlib.import_module(name)
