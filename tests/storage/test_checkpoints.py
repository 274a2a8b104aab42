import pytest

from support.configs import config
from support.small import small
from synthlab.errors import InputError
from synthlab.storage.checkpoints import check_step, is_weights, step_of, steps_to_keep, weights_name
from synthlab.storage.store import Store

LONG = ("protocol.steps=100", "protocol.record_every=10")
TUNED = ("task=hidden_markov", "extension=pi", "alignment.windows=2", "alignment.alpha=0.1")


@pytest.mark.parametrize(
    ("overrides", "kept"),
    [
        (LONG, [10, 20, 40, 80, 100]),
        (("protocol.steps=45", "protocol.record_every=10"), [10, 20, 40, 45]),
        (("protocol.steps=50", "protocol.record_every=10"), [10, 20, 40, 50]),
        (("protocol.steps=10", "protocol.record_every=10"), [10]),
        (("protocol.steps=5", "protocol.record_every=10"), [5]),
        (("protocol.steps=9", "protocol.record_every=1"), [1, 2, 4, 8, 9]),
    ],
    ids=str,
)
def test_checkpoints_are_the_first_second_fourth_point_of_the_curve_and_so_on(overrides, kept):
    run = config(*overrides)
    assert steps_to_keep("checkpoints", run) == kept
    assert steps_to_keep("weights", run) == kept[-1:]
    assert steps_to_keep(None, run) == []


def test_steps_of_ones_own_are_kept_with_the_last():
    run = config(*LONG)
    assert steps_to_keep([90, 30, 30], run) == [30, 90, 100]
    assert steps_to_keep([100], run) == [100]


def test_steps_of_a_second_training_count_from_the_first():
    run = small(*TUNED, "finetune.steps=7")  # 4 steps, then 7, a point every 2
    assert list(run.checkpoints) == [6, 8, 10]
    assert steps_to_keep("checkpoints", run) == [6, 8, 11]
    assert steps_to_keep("checkpoints", small("task=hidden_markov", "extension=yarn")) == [4]
    assert steps_to_keep("checkpoints", small("task=hidden_markov")) == [2, 4]


@pytest.mark.parametrize("step", [0, -10, 5, 101, 110, True, 10.0, "10"])
def test_a_step_that_is_no_point_of_the_curve_is_refused(step):
    line = f"^step={step}: must be a step of the training curve of the tested model: 10, 20, 30, ... or 100$"
    with pytest.raises(InputError, match=line):
        check_step(step, config(*LONG), f"step={step}")


def test_points_of_the_first_of_two_trainings_are_refused():
    with pytest.raises(InputError, match=r"^save=\[2\]: must be .* of the tested model: 6, 8 or 10$"):
        steps_to_keep([2], small(*TUNED, "finetune.steps=6"))
    with pytest.raises(InputError, match=r"of the tested model: 4$"):
        steps_to_keep([2], small("task=hidden_markov", "extension=yarn"))


def test_what_can_be_kept_is_weights(tmp_path):
    line = "save=wieghts: unknown, did you mean weights.; choose from weights, checkpoints, or give a list of steps"
    with pytest.raises(InputError, match=f"^{line}$"):
        Store(tmp_path, "wieghts")


def test_files_are_named_by_their_step():
    run = config(*LONG)
    assert [weights_name(step, run) for step in (10, 100)] == ["weights-10.safetensors", "weights.safetensors"]
    assert [step_of(weights_name(step, run), run) for step in (10, 100)] == [10, 100]
    for name in ("weights-.safetensors", "weights-010.safetensors", "weights.safetensors.bak", "metrics.csv"):
        assert not is_weights(name)
