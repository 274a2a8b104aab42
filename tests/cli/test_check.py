"""``synthlab check``: the laws of a class by name, in each family that can use it."""

import pytest

from synthlab.cli.check import check, find_groups
from synthlab.cli.check import main as run_check
from synthlab.errors import InputError
from synthlab.runs.registry import find_class

SMALL = ("model.width=16", "model.heads=2", "model.depth=1")


def ask(capsys, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        run_check(words)
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


def test_a_sound_encoding_is_tried_in_every_family(capsys):
    status, text = ask(capsys, "support.user_classes:Backwards", *SMALL)
    assert status == 0
    assert "FAILS" not in text
    for task in ("mean", "text", "majority"):
        assert (
            f"task={task} encoding=support.user_classes:Backwards\n  holds  no output depends on a later token" in text
        )
    assert text.count("holds  beside another model it trains as it does alone (0.0e+00)") == 3


def test_a_map_meets_the_targets_of_every_task_and_what_it_breaks_is_status_1(capsys):
    status, text = ask(capsys, "support.lawless:Sine", *SMALL)
    assert status == 1
    assert "task=length: outrep=support.lawless:Sine: breaks a law: the inverse of f(y) is y" in text
    assert "task=mean outrep=support.lawless:Sine\n  holds  the inverse" in text  # sin is one to one on [0, 1]


def test_a_class_that_cannot_train_says_so(capsys):
    status, text = ask(capsys, "support.user_classes:Stubborn", "task=length", *SMALL)
    assert (status, text.startswith("error: encoding=support.user_classes:Stubborn: parameter vector")) == (2, True)
    status, text = ask(capsys, "support.lawless:Forgetful", "task=copy")
    assert (status, "FAILS  the same seed trains the same model" in text) == (1, True)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("support.lawless:Sine", {"numbers": "outrep"}),
        ("support.user_classes:Half", {"numbers": "task"}),
        ("support.user_classes:Steps", {"language": "positions", "sequences": "positions"}),
        ("support.user_classes:Bigram", dict.fromkeys(("numbers", "language", "sequences"), "model")),
        ("torch.optim:SGD", dict.fromkeys(("numbers", "language", "sequences"), "protocol.optimizer")),
        ("support.user_classes:Log", {}),
    ],
)
def test_the_base_class_decides_the_group(name, groups):
    assert find_groups(find_class(name, "class")) == groups


def test_a_class_that_is_none_of_the_labs_is_refused():
    with pytest.raises(InputError, match="support.user_classes:Log: must be an encoding, a model, "):
        list(check("support.user_classes:Log", []))
