"""Families of tasks: what a task decides, and classes of one's own in the place of names."""

import pytest

from support.configs import composed
from synthlab.config.base import resolve
from synthlab.config.composition import Composed, compose, to_overrides
from synthlab.config.families import expand, families, family_of, kind_of_family, tasks_of
from synthlab.config.sources import without_sources
from synthlab.errors import InputError
from synthlab.training.execution import execute_together

OWN = {
    "support.user_classes:Half": "numbers",
    "support.user_classes:Mirror": "sequences",
    "support.user_classes:Coins": "language",
}
SHORT = ("test_length=8", "train_length=4", "evaluation.sequences=2", "protocol.steps=2", "protocol.record_every=1")


@pytest.mark.parametrize("family", families())
def test_a_family_has_tasks_and_registries_of_its_groups(family):
    kind = kind_of_family(family)
    assert kind.default_task in tasks_of(family)
    assert set(kind.load_family().groups) <= {*kind.groups()}
    assert resolve(compose([f"task={kind.default_task}"])).kind == kind.model_fields["kind"].default


@pytest.mark.parametrize(("task", "family"), [("copy", "sequences"), ("text", "language"), *OWN.items()])
def test_a_task_decides_its_family(task, family):
    assert family_of(task) == family
    assert expand([f"task={task}"])[-1] == f"family@_global_={family}" or family == "numbers"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            ["task=copy", "outrep=rsqrt"],
            "outrep=rsqrt: only tasks with a number for an answer have it (length, mean, sum); task=copy answers with "
            "a sequence",
        ),
        (["task=text", "stop.exact=1.0"], "stop.exact=1.0: only tasks with a number or a sequence for an answer"),
        (["extension=yarn"], "extension=yarn: only tasks with the next token for an answer have it (hidden_markov, "),
        (["task=copy", "zzz=1"], "zzz=1: unknown key; choose from "),
    ],
)
def test_a_key_of_another_family_is_refused_with_the_tasks_that_have_it(given, line):
    with pytest.raises(InputError) as refused:
        compose(given)
    (found,) = refused.value.lines
    assert found.startswith(line)


def test_seeds_follow_the_one_rule_in_every_family():
    for family in families():
        task = kind_of_family(family).default_task
        config = resolve(composed(f"task={task}", "seed=3", "test_seed=7"))
        assert (config.weight_seed, config.data_seed, config.test_seed) == (3, 3, 7)
        assert config.id != config.with_seeds({"seed": 3}).id


def test_a_class_of_ones_own_takes_its_arguments_by_key_as_in_python():
    typed = compose(["encoding=support.user_classes:Backwards", "encoding.strength=2.0"])
    given = {"encoding": {"name": "support.user_classes:Backwards", "strength": 2.0}}
    assert typed["encoding"] == compose(list(to_overrides(given)))["encoding"] == given["encoding"]
    settings = {"encoding": "support.user_classes:Backwards", "encoding.strength": 2.0}
    assert Composed(compose([])).with_settings(settings) == typed


def test_a_class_of_ones_own_takes_another_member_as_the_labs_own_do():
    chosen = {"encoding": "support.user_classes:Backwards", "encoding@encoding.inner": "rope"}
    composed = Composed(compose([])).with_settings(chosen)["encoding"]
    assert composed == {"name": chosen["encoding"], "inner": {"name": "rope", "base": 10000.0}}
    assert compose(list(to_overrides(chosen)))["encoding"] == composed


@pytest.mark.parametrize("task", ["hidden_markov", "copy"])
def test_a_model_of_ones_own_has_its_own_arguments_in_every_family_whose_tasks_it_serves(task):
    config = resolve(composed(f"task={task}", "model=support.user_classes:Bigram", "model.scale=0.5", *SHORT))
    assert without_sources(config.model) == {"name": "support.user_classes:Bigram", "scale": 0.5}
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


def test_an_error_names_the_key_that_was_typed():
    with pytest.raises(InputError, match=r"^encoding.strenth=2.0: unknown key, did you mean strength\?"):
        resolve(compose(["encoding=support.user_classes:Backwards", "encoding.strenth=2.0"]))


def test_settings_follow_a_task_to_its_family():
    base = Composed(compose(["protocol.steps=7"]), {"protocol.steps": "protocol.steps=7"})
    assert base.with_settings({"task": "copy"}) == compose(["protocol.steps=7", "task=copy"])
    with pytest.raises(InputError, match=r"outrep"):
        base.with_settings({"task": "copy", "outrep": "rsqrt"})
