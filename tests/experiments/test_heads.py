"""What is measured of the heads of trained models."""

import math

import pytest
import torch

from experiments.output_alignment.heads import heads_of, line_error
from support.configs import composed, config
from support.records import opened
from synthlab.runs.run import resolve
from synthlab.training.trained import TrainedModel

TINY = ("model.width=8", "model.heads=2", "protocol.steps=2", "protocol.record_every=1", "task=length")
FAR = ("train_length=3", "test_length=6")


def trained(*overrides: str) -> TrainedModel:
    return opened(config(*TINY, *FAR, *overrides))


def test_the_line_through_the_training_lengths_by_hand():
    weights = [1 / (2.0 + 3.0 * k) for k in range(1, 51)]
    assert line_error(weights, 10) == pytest.approx(0.0, abs=1e-12)
    assert line_error([*weights[:-1], 1 / 304.0], 10) == pytest.approx(0.5)  # the line says 152
    assert line_error([*weights[:10], *[1.0] * 40], 10) == pytest.approx(151.0)  # what lies beyond has no say
    assert math.isnan(line_error(weights, 26))  # it would not be continued
    assert math.isnan(line_error([*weights[:-1], 0.0], 10))


def test_without_positions_the_weight_of_bos_is_a_line():
    model = trained("encoding=nope")
    with torch.no_grad():
        model.module.blocks[0].attention.queries.weight.zero_()  # then zeros and ones count alike: w = 1 / (k + 2)
        model.module.blocks[0].attention.queries.bias.zero_()
    assert heads_of(model).line_error == pytest.approx(0.0, abs=1e-5)
    assert heads_of(trained("encoding=rope", "model.depth=2")).line_error > 0.01


def test_a_head_that_the_output_does_not_read_is_never_missed():
    model = trained("encoding=nope")
    with torch.no_grad():
        model.module.blocks[0].attention.output.weight[0].unflatten(0, (2, -1))[0] = 0
    found = heads_of(model)
    without_it = found.lost if found.head == 0 else found.alone - found.unexplained
    assert without_it == pytest.approx(0.0, abs=1e-5)


@pytest.mark.slow
def test_of_a_trained_model_much_is_lost_with_its_main_head():
    found = heads_of(opened(resolve(composed("task=length", "encoding=nope", "outrep=reciprocal"))))
    assert found.line_error < 0.05
    assert found.unexplained < 1e-3
    assert found.lost > 0.05
