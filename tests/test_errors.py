import pytest

from synthlab.errors import in_one_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\n  b\t"), "ValueError: a b"),
        (KeyError("name"), "KeyError: 'name'"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_an_error_in_one_line(error, line):
    assert in_one_line(error) == line
