"""Early stop of tasks with a number for an answer."""

import pytest

from support.configs import config
from synthlab.models.layers import Member
from synthlab.numbers.evaluation import measure_loss
from synthlab.numbers.family import build_models
from synthlab.numbers.outrep.fixed import Identity
from synthlab.training.execution import execute, execute_together

HOW = ("task=length", "protocol.steps=60", "protocol.record_every=10", "protocol.batch=16", "stop.every=10")


def test_the_stopping_loss_by_hand():
    run = config("task=length")
    ensemble = build_models([run])
    for parameter in ensemble.parameters():
        parameter.data.zero_()
    zero = Member(ensemble, 0)  # answers 0 to everything
    assert measure_loss(zero, run, Identity(0.0), 8) == pytest.approx(38.5)  # the mean of k^2, k = 1 to 10
    longest = config("task=length", "length_distribution=longest")
    assert measure_loss(zero, longest, Identity(0.0), 8) == pytest.approx(100)


def test_a_run_stops_in_an_ensemble_as_it_does_alone():
    configs = [config(*HOW, "stop.loss=0.1", f"seed={seed}") for seed in range(3)]
    together = execute_together(configs)
    ends = [int(record.training["step"].iloc[-1]) for record in together]
    assert len(set(ends)) > 1  # some trained on beside those that had stopped
    assert min(ends) < 60
    for record, run in zip(together, configs, strict=True):
        alone = execute(run)
        assert record.training.equals(alone.training)
        assert record.metrics.equals(alone.metrics)


def test_a_stopped_run_has_the_model_of_that_step():
    short = (*HOW, "protocol.steps=40", "stop.every=20")
    stopped = execute(config(*short, "stop.loss=1e9"))
    assert stopped.training["step"].tolist() == [10, 20]
    whole = execute_together([config(*short)], keep=[20])[0]
    after = [whole.model(20), stopped.model(), stopped.model(30)]
    first, *others = ([value.flatten().tolist() for value in model.module.parameters()] for model in after)
    assert others == [first, first]
