"""Expected errors in floating point against the exact ones."""

import numpy as np
import pytest
import torch

import theory
from synthlab.numbers.outrep import OUTREPS, OutRep
from synthlab.numbers.outrep.base import POSITIVE
from theory.closed_forms.numeric import count_seen, expected_errors, fit_outputs, outcomes


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("mean", {}),
        ("length", {}),
        ("sum", {"outrep": "rsqrt"}),
        ("length", {"outrep": "reciprocal"}),
        ("length", {"outrep": "log", "bos": True}),
        ("sum", {"outrep": "rlog", "bos": True}),
    ],
)
def test_they_equal_the_exact_ones(task, options):
    best = theory.optimum(task, 5, 2, **options)
    decimals = best.to_decimals()
    matrix = np.array(decimals.outputs.tolist(), dtype=float)
    natural, represented = expected_errors(matrix, task, best.outrep.library_map, 1000.0, 12)
    assert natural.tolist() == pytest.approx([float(decimals.error(k)) for k in range(1, 13)], rel=1e-9, abs=1e-12)
    assert represented[:5].mean() == pytest.approx(float(best.loss), rel=1e-9, abs=1e-12)
    fitted = fit_outputs(task, 5, best.outrep.library_map, bos=options.get("bos", False))
    assert fitted == pytest.approx(matrix, rel=1e-8, abs=1e-9)


def test_probabilities_of_long_lengths_do_not_overflow():
    last, ones, probability = outcomes(1100)
    assert probability.sum().item() == pytest.approx(1)
    assert (probability * ones).sum().item() == pytest.approx(550)
    assert probability[last == 1].sum().item() == pytest.approx(1 / 2)


def test_a_bos_whose_weight_falls_as_a_power_by_hand():
    counts = count_seen(torch.tensor([1.0, 3.0]), 4, bos=True, q=0.5)
    assert counts.tolist() == [[3, 1, 2], [1, 3, 2]]  # BOS counts as sqrt(4) symbols
    # M answers 6 times the weight of BOS, which is 1/2 at length 1 and 1/3 at length 4.
    outputs = np.array([[0.0, 0.0, 6.0]] * 2)
    natural, _ = expected_errors(outputs, "length", OUTREPS.build({"name": "identity", "shift": 0.0}), 1000.0, 4, q=0.5)
    assert natural[[0, 3]].tolist() == pytest.approx([(3 - 1) ** 2, (2 - 4) ** 2])


def test_the_optimum_under_another_power_is_exact_where_the_map_is_the_weight():
    class Weight(OutRep):  # f(x) = 1 / (1 + sqrt(x))
        domain, image, increasing = POSITIVE, POSITIVE, False

        def f(self, x):
            return 1 / (1 + x.sqrt())

        def f_inverse(self, z):
            return (1 / z - 1).square()

    fitted = fit_outputs("length", 5, Weight(), bos=True, q=0.5)
    assert fitted == pytest.approx(np.array([[0.0, 0.0, 1.0]] * 2), abs=1e-12)
    assert expected_errors(fitted, "length", Weight(), 1000.0, 30, q=0.5)[0].max() < 1e-15
