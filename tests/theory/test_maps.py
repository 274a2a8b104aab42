"""The exact maps are the bench's."""

import pytest
import sympy
import torch

from synthlab.numbers.outrep import OUTREPS, OutRepModule
from theory.closed_forms.maps import FUNCTIONS, Map, find_largest


def test_every_fixed_map_has_an_exact_twin():
    fixed = {name for name, each in OUTREPS.items() if not issubclass(each, OutRepModule)}
    assert set(FUNCTIONS) == fixed - {"power"}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("task", ["mean", "length", "sum"])
def test_forward_answer_and_clipping_are_the_benchs(name, task):
    exact = Map.from_name(name, task)
    y = [sympy.Rational(k, 2) for k in range(2, 9)]
    there = exact.library_map.forward(torch.tensor([float(value) for value in y], dtype=torch.float64))
    assert there.tolist() == pytest.approx([float(exact.forward(value)) for value in y])
    for value in y:
        assert sympy.simplify(exact.answer(exact.forward(value)) - value) == 0
    for z in (-3, sympy.Rational(-1, 100), sympy.Rational(1, 10**6), 2, 50, 10**9):
        clipped = exact.library_map.clip(torch.tensor([float(z)], dtype=torch.float64), float(find_largest()))
        expected = exact.library_map.inverse(clipped).item()
        assert float(exact.answer(sympy.sympify(z))) == pytest.approx(expected, rel=1e-9), z
