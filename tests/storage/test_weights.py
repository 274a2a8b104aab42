import pytest

from support.configs import config
from support.records import record, with_weights
from support.small import small
from support.weights import file
from synthlab.errors import InputError
from synthlab.storage.store import Store
from synthlab.storage.weights import check_step, steps_to_keep

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
    assert steps_to_keep((90, 30, 30), run) == [30, 90, 100]
    assert steps_to_keep((100,), run) == [100]


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
        steps_to_keep((2,), small(*TUNED, "finetune.steps=6"))
    with pytest.raises(InputError, match=r"of the tested model: 4$"):
        steps_to_keep((2,), small("task=hidden_markov", "extension=yarn"))


def test_what_can_be_kept_is_weights(tmp_path):
    line = "save=wieghts: unknown, did you mean weights.; choose from weights, checkpoints, or give a list of steps"
    with pytest.raises(InputError, match=f"^{line}$"):
        Store(tmp_path, "wieghts")


def test_the_models_of_a_group_share_a_file_of_which_each_is_a_slice(tmp_path):
    kept = [with_weights(with_weights(record(seed), file(seed)), file(seed + 9), step=2) for seed in range(3)]
    Store(tmp_path).write(*kept)
    (path,) = tmp_path.glob("weights/*.safetensors")
    from safetensors import safe_open

    with safe_open(path, "numpy") as group:
        assert {name: group.get_slice(name).get_shape() for name in sorted(group.keys())} == {
            "2/head.bias": [3, 3], "2/head.weight": [3, 2, 3], "2/table": [3, 2],
            "4/head.bias": [3, 3], "4/head.weight": [3, 2, 3], "4/table": [3, 2],
        }  # fmt: skip
        assert group.get_tensor("4/head.weight")[1].flat[0] == 1
    for each in kept:
        read = Store(tmp_path).read(each.config.id)
        assert {step: load() for step, load in read.weights.items()} == {s: load() for s, load in each.weights.items()}
