"""Arguments of public functions, checked by their annotations."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int, jaxtyped
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.argument_checks import check_arguments


@check_arguments
def asked(
    count: int | None = 1,
    share: Annotated[float, Field(ge=0, le=1)] = 0.5,
    form: Literal["last", "overlap"] = "last",
    lengths: Sequence[int] = (),
    x: Int[Tensor, "N T"] | None = None,
    y: Float[Tensor, " N"] | None = None,
    anything: Any = None,
    **others: Any,
) -> dict[str, Any]:
    """Whatever is given."""
    return locals()


NO_ROW = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"count": 1.0}, ["count=1.0: must be a valid integer"]),
        ({"share": 2.0}, ["share=2.0: must be less than or equal to 1"]),
        ({"share": float("nan")}, ["share=nan: must be a finite number"]),
        ({"lengths": [1, "a"]}, ["lengths.1='a': must be a valid integer"]),
        ({"count": "a", "share": -1.0}, ["count='a': must be a valid integer", "share=-1.0: must be greater than"]),
        ({"x": NO_ROW.long(), "y": torch.zeros(4)}, ["y=tensor([0., 0., 0., 0.]): must be an instance of Float["]),
    ],
)
def test_each_argument_that_does_not_fit_has_one_short_line(given, lines):
    with pytest.raises(InputError) as caught:
        asked(**given)
    assert len(caught.value.lines) == len(lines)
    for line, begins in zip(caught.value.lines, lines, strict=True):
        assert line.startswith(begins)
        assert len(line) < 200


def test_what_fits_is_passed_on_as_it_was_given():
    lengths, numbers = range(3), iter([1])
    given = asked(np.int64(3), lengths=lengths, anything=numbers, other=2)
    assert isinstance(given["count"], np.int64)
    assert given["lengths"] is lengths
    assert next(given["anything"]) == 1
    assert given["others"] == {"other": 2}


def test_the_dimensions_of_a_caller_are_its_own():
    with jaxtyped("context"):
        assert isinstance(torch.zeros(5, 5).long(), Int[Tensor, "N T"])
        assert asked(x=NO_ROW.long())["x"].shape == (2, 3)
