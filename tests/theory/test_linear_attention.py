"""Exact expected errors against enumeration, against the paper's formulas, and against the bench's own model."""

from functools import partial
from itertools import product

import pytest
import sympy
import torch
from sympy import Matrix, Rational

from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.models.linear_attention import LinearAttention
from synthlab.numbers.tasks import TASKS
from synthlab.rng import stream
from theory import expected_error, training_loss
from theory.closed_forms.linear_attention import TARGETS

M = Matrix(2, 2, [Rational(1, 3), Rational(-2), Rational(5, 7), Rational(4)])


def enumerated(outputs: Matrix, task: str, length: int, p: Rational) -> Rational:
    """The same expectation, one sequence at a time."""
    total = Rational(0)
    for x in product((0, 1), repeat=length):
        readout = sum(outputs[x[-1], symbol] for symbol in x) / Rational(length)
        probability = p ** sum(x) * (1 - p) ** (length - sum(x))
        total += probability * (readout - TARGETS[task](sum(x), length)) ** 2
    return total


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("p", [Rational(1, 2), Rational(1, 5)])
def test_sums_by_enumeration(task, length, p):
    assert expected_error(M, task, length, p) == enumerated(M, task, length, p)


def test_the_length_task_by_hand():
    gamma = sympy.Symbol("Gamma")
    constant = Matrix(2, 2, [gamma] * 4)
    # All four numbers equal: the readout is Gamma at every length, the error (Gamma - l)^2 (above equation 14).
    assert sympy.expand(expected_error(constant, "length", 5) - (gamma - 5) ** 2) == 0
    assert sympy.solve(sympy.diff(training_loss(constant, "length", 10), gamma), gamma) == [Rational(11, 2)]


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("bos", [False, True])
def test_model_has_the_error_of_its_outputs(task, bos):
    nope = partial(ENCODINGS.build, {"name": "nope"})
    model = LinearAttention(nope, [stream(0, "initial")], head_dim=2, bos=bos, init_scale=1.0).double()
    outputs = Matrix(2, 2 + bos, [Rational(value.item()) for value in model.outputs().flatten()])
    length = 6
    x = torch.cartesian_prod(*[torch.tensor([0, 1])] * length)
    measured = (model(x[None])[0] - TASKS[task]().targets(x)).square().mean(0)
    exact = [float(expected_error(outputs, task, k)) for k in range(1, length + 1)]
    assert measured.tolist() == pytest.approx(exact, rel=1e-5)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="^p=2: must be "):
        expected_error(M, "sum", 3, 2)
    with pytest.raises(InputError, match="^outputs=.*: must be a matrix"):
        training_loss(sympy.zeros(2, 4), "sum", 3)
