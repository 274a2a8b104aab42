import pytest

from support.configs import config, small
from support.records import all_weights, made_weights, record, with_weights
from synthlab.errors import InputError
from synthlab.storage.store import Store
from synthlab.storage.weights import check_step, find_saved_steps

LONG = ("protocol.steps=100", "protocol.record_every=10")
TUNED = ("task=hidden_markov", "extension=pi", "alignment.windows=2", "alignment.alpha=0.1")


@pytest.mark.parametrize(
    ("run", "kept"),
    [
        (config(*LONG), [10, 20, 40, 80, 100]),
        (config("protocol.steps=45", "protocol.record_every=10"), [10, 20, 40, 45]),
        (config("protocol.steps=5", "protocol.record_every=10"), [5]),
        (small(*TUNED, "finetune.steps=7"), [6, 8, 11]),  # 4 steps, then 7, a point every 2
        (small("task=hidden_markov", "extension=yarn"), [4]),
        (small("task=hidden_markov"), [2, 4]),
    ],
    ids=str,
)
def test_checkpoints_are_the_first_second_fourth_point_of_the_curve_and_so_on(run, kept):
    assert find_saved_steps("checkpoints", run) == kept
    assert find_saved_steps("weights", run) == kept[-1:]
    assert find_saved_steps(None, run) == []
    assert find_saved_steps((run.checkpoints[0],) * 2 if len(kept) > 1 else (), run) == sorted({kept[0], kept[-1]})


@pytest.mark.parametrize("step", [0, 5, 110, True, 10.0, "10"])
def test_a_step_that_is_no_point_of_the_curve_is_refused(step):
    line = f"^step={step}: must be a step of the training curve of the tested model: 10, 20, 30, ... or 100$"
    with pytest.raises(InputError, match=line):
        check_step(step, config(*LONG), f"step={step}")
    with pytest.raises(InputError, match=r"^save=\[2\]: must be .* of the tested model: 6, 8 or 10$"):
        find_saved_steps((2,), small(*TUNED, "finetune.steps=6"))  # it is one of the first training


def test_what_can_be_kept_is_weights(tmp_path):
    line = "save=wieghts: unknown, did you mean weights.; choose from weights, checkpoints, or give a list of steps"
    with pytest.raises(InputError, match=f"^{line}$"):
        Store(tmp_path, "wieghts")


def test_the_models_of_a_group_share_a_file_of_which_each_is_a_slice(tmp_path):
    kept = [
        with_weights(with_weights(record(seed), made_weights(seed)), made_weights(seed + 9), step=2)
        for seed in range(3)
    ]
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
        assert all_weights(read) == all_weights(each)
