"""Expected errors in floating point against the exact ones."""

import numpy as np
import pytest

import theory
from theory.closed_forms.numeric import expected_errors, fit_outputs, outcomes


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
