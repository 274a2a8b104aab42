import pytest

from synthlab.errors import InputError, in_one_line


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


def test_a_problem_is_one_line_of_bounded_length_whatever_value_it_repeats():
    assert InputError("task=a\nb: unknown").lines == (r"task=a\nb: unknown",)
    [line] = InputError(f"task={'x' * 10**5}: must be a name").lines
    assert line.startswith("task=xx")
    assert line.endswith("xx: must be a name")
    assert len(line) < 400
