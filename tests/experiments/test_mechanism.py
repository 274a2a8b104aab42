import numpy as np
import pytest

from experiments.output_alignment.mechanism import inverse_weights, line_from_training


def test_the_line_through_the_training_lengths_by_hand():
    lengths = np.arange(1, 51)
    assert line_from_training(2.0 + 3.0 * lengths) == pytest.approx(152.0)
    bent = np.where(lengths <= 10, 2.0 + 3.0 * lengths, 0.0)
    assert line_from_training(bent) == pytest.approx(152.0)  # what lies beyond training has no say


@pytest.mark.slow
def test_a_trained_nope_model_attends_to_bos_in_inverse_proportion_to_length():
    for values in inverse_weights("reciprocal"):
        assert line_from_training(values) == pytest.approx(values[-1], rel=0.05)
        assert values[-1] > 2 * values[9]  # the weight does fall with length
