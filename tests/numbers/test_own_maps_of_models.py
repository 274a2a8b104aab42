"""Maps that belong to a model: learned with it, or chosen for it before it is trained."""

import pytest

import synthlab
from support.configs import config
from synthlab.errors import InputError
from synthlab.numbers.evaluation import test_sequences as sequences_of_tests
from synthlab.numbers.family import candidate_runs
from synthlab.numbers.tasks import INPUTS
from synthlab.training.execution import execute

SHORT = ("task=length", "protocol.steps=20", "protocol.batch=4", "protocol.record_every=5")
MAPS = ("box_cox", "monotone", "chosen")


@pytest.mark.parametrize("name", ["box_cox", "monotone"])
def test_learned_exponents_are_recorded(name):
    training = execute(config(*SHORT, f"outrep={name}", "outrep.start=0.5")).training
    names = [column for column in training if column not in ("step", "loss")]
    assert names == (["exponent"] if name == "box_cox" else [f"exponent_{i}" for i in range(1, 5)])
    assert training["step"].tolist() == [5, 10, 15, 20]
    assert ((training[names].iloc[-1] - 0.5).abs() > 1e-3).any()


@pytest.mark.parametrize("name", MAPS)
def test_a_model_is_opened_with_its_map(tmp_path, name):
    settings = {"steps": 20, "batch": 4, "record_every": 5}
    asked = {"task": "length", "outrep": name, "protocol": settings, "save": "weights"}
    record = synthlab.run(**asked, results=tmp_path, progress=False)[0]
    drawn = record.config
    x = sequences_of_tests(INPUTS.build(drawn.inputs), drawn.evaluation.sequences, drawn.test_length, drawn.test_seed)
    errors = record.model().predict(x[:, :7]).answer - 7
    assert errors.square().mean().item() == pytest.approx(record.metrics["mse"][6], rel=1e-5)


def test_a_chosen_map_trains_as_that_map():
    record = execute(config(*SHORT, "outrep=chosen"))
    assert record.outputs is not None
    fixed = execute(config(*SHORT, f"outrep={record.outputs.iloc[0].idxmin()}"))
    assert record.metrics.equals(fixed.metrics)
    assert record.training.equals(fixed.training)


def test_the_choice_looks_at_training_lengths_alone():
    run = config(*SHORT, "outrep=chosen", "train_length=10")
    assert {(each.train_length, each.test_length) for each in candidate_runs(run)} == {(8, 10)}
    far = config(*SHORT, "outrep=chosen", "train_length=10", "test_length=60", "test_seed=5")
    assert execute(run).outputs.equals(execute(far).outputs)


def test_scores_are_those_of_the_candidates_trained_alone():
    run = config(*SHORT, "outrep=chosen", "outrep.held_out=0.5")
    expected = [execute(each).metrics["relative_error"][5:10].mean() for each in candidate_runs(run)]
    assert execute(run).outputs.iloc[0].tolist() == pytest.approx(expected, rel=1e-6)


def test_a_choice_without_lengths_to_train_on_is_refused():
    with pytest.raises(InputError, match="train_length=1: leaves no length to train on"):
        config("task=length", "outrep=chosen", "train_length=1")


@pytest.mark.parametrize("name", MAPS)
def test_a_model_stops_early_with_its_map(name):
    stop = ("stop.loss=0.5", "stop.every=10", "stop.sequences=8")
    easy = ("task=mean", "train_length=2", "protocol.steps=200", "protocol.record_every=5", "protocol.lr=0.01")
    record = execute(config(*easy, f"outrep={name}", *stop))
    assert 10 <= record.training["step"].iloc[-1] < 200
    assert record.training.notna().all().all()
