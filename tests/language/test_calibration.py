import math

import pytest
import torch

from synthlab.language.evaluation import best_temperature


def test_the_best_temperature_by_hand():
    # Three of four times the first token comes, whose logit is 2 more: at T the odds are exp(2 / T), and best where 3.
    logits = torch.tensor([[2.0, 0.0]]).repeat(4, 1)
    found = best_temperature(logits, torch.tensor([0, 0, 0, 1]))
    assert found == pytest.approx(2 / math.log(3), rel=1e-5)
    # Batches of texts are the same answers in another shape.
    assert best_temperature(logits.view(2, 2, 2), torch.tensor([[0, 0], [0, 1]])) == pytest.approx(found)
