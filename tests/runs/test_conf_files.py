"""Families of tasks: what a task decides, and classes of one's own in the place of names."""

import pytest

from support.configs import composed
from synthlab.errors import InputError
from synthlab.runs.composition import Composer, compose, family_of
from synthlab.runs.conf_files import families, run_type, tasks_of
from synthlab.runs.run import resolve
from synthlab.training.execution import execute_together

OWN = {
    "support.user_classes:Half": "numbers",
    "support.user_classes:Mirror": "sequences",
    "support.user_classes:Coins": "language",
}
SHORT = ("test_length=8", "train_length=4", "evaluation.sequences=2", "protocol.steps=2", "protocol.record_every=1")


@pytest.mark.parametrize("family", families())
def test_a_family_has_tasks_and_registries_of_its_groups(family):
    runs = run_type(family)
    assert runs.default_task in tasks_of(family)
    assert set(runs.load_family().groups) <= {*runs.groups()}
    assert resolve(compose([f"task={runs.default_task}"])).family == runs.model_fields["family"].default


@pytest.mark.parametrize(("task", "family"), [("copy", "sequences"), ("text", "language"), *OWN.items()])
def test_a_task_decides_its_family(task, family):
    assert family_of(task) == family
    assert compose([f"task={task}"])["family"] == run_type(family).model_fields["family"].default


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            ["task=copy", "outrep=rsqrt"],
            "outrep=rsqrt: Could not override 'outrep'. No match in the defaults list; task=copy has the groups "
            "encoding, positions, model, protocol",
        ),
        (["task=copy", "stop.loss=1.0"], "stop.loss=1.0: unknown key; choose from every, exact, sequences"),
        (["task=copy", "zzz=1"], "zzz=1: unknown key; choose from "),
        (["encoding=support.user_classes:Backwards", "encoding.strenth=2.0"], "encoding.strenth=2.0: unknown key, did"),
    ],
)
def test_a_key_of_another_family_is_refused_with_what_there_is(given, line):
    with pytest.raises(InputError) as refused:
        resolve(compose(given))
    (found,) = refused.value.lines
    assert found.startswith(line)


BACKWARDS = "support.user_classes:Backwards"


def test_a_class_of_ones_own_takes_its_arguments_by_key_and_has_its_defaults():
    typed = compose([f"encoding={BACKWARDS}", "encoding.strength=2.0"])
    assert typed["encoding"] == {"name": BACKWARDS, "strength": 2.0}
    assert Composer().compose({"encoding": {"name": BACKWARDS, "strength": 2.0}}) == typed
    assert compose([f"encoding={BACKWARDS}"])["encoding"] == {"name": BACKWARDS, "strength": 1.0}
    bigram = "support.user_classes:Bigram"  # its scale must be given
    assert compose(["task=copy", f"model={bigram}"])["model"] == {"name": bigram}


def test_a_class_of_ones_own_takes_another_member_as_the_labs_own_do():
    wrapper = "experiments.output_alignment.readout:Readout"
    settings = {"encoding": wrapper, "encoding@encoding.inner": BACKWARDS}
    given = compose([f"{key}={value}" for key, value in settings.items()])["encoding"]
    assert given == {"name": wrapper, "inner": {"name": BACKWARDS, "strength": 1.0}}
    assert given == Composer().compose(settings)["encoding"]


def test_arguments_of_an_own_optimizer_need_no_mark():
    words = ["protocol.optimizer=torch.optim:SGD", "protocol.options.momentum=0.5"]
    settings = {"protocol": {"optimizer": "torch.optim:SGD", "options": {"momentum": 0.5}}}
    assert compose(words) == Composer().compose(settings)
    assert compose(words)["protocol"]["options"] == {"momentum": 0.5}


def test_keys_of_the_task_that_tests_change_need_no_mark():
    words, settings = ["task=flip_flop", "test_task.ignore=0.5"], {"task": "flip_flop", "test_task": {"ignore": 0.5}}
    assert compose(words) == Composer().compose(settings)
    assert compose(words)["test_task"] == {"ignore": 0.5}
    for made in (compose, lambda words: Composer(["task=mean"]).compose({"test_task": {"ignore": 0.5}})):
        with pytest.raises(InputError, match="^test_task.* unknown key"):
            resolve(made(["task=mean", "test_task.ignore=0.5"]))


def test_a_task_of_ones_own_folder_names_its_family_as_the_labs_do(tmp_path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "mine.yaml").write_text("defaults: [copy, _self_]\nsymbols: 7\n")
    found = compose([f"hydra.searchpath=[{tmp_path}]", "task=mine"])
    assert (found["family"], found["task"]) == ("sequences", {"name": "copy", "symbols": 7})


@pytest.mark.parametrize("task", ["hidden_markov", "copy"])
def test_a_model_of_ones_own_has_its_own_arguments_in_every_family_whose_tasks_it_serves(task):
    config = resolve(composed(f"task={task}", "model=support.user_classes:Bigram", "model.scale=0.5", *SHORT))
    assert config.model.items() >= {"name": "support.user_classes:Bigram", "scale": 0.5}.items()
    [record] = execute_together([config])
    assert record.metrics["length"].max() == 8


@pytest.mark.parametrize(("task", "default"), [("mean", "nope"), ("majority", "nope"), ("text", "rope")])
def test_an_encoding_that_a_model_does_not_use_is_refused_unless_it_is_the_default(task, default):
    given = (f"task={task}", "model=support.user_classes:Bag", *SHORT)
    config = resolve(composed(*given))
    [record] = execute_together([config])
    assert record.diverged_at is None
    assert config.encoding["name"] == default
    assert resolve(composed(*given, f"encoding={default}")).id == config.id
    for other in ("encoding=alibi", "encoding=rope encoding.base=5.0", "encoding=learned encoding.table=99"):
        name = other.split()[0]
        line = f"{name}: model=support.user_classes:Bag does not use it, its own is NoPE; leave encoding out"
        with pytest.raises(InputError, match=f"^{line}$"):
            resolve(composed(*given, *other.split()))
