"""A sweep's overrides stand for the runs that Hydra would make of each combination."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthlab.errors import InputError
from synthlab.runs.composition import compose, conf_dir, initialize_hydra
from synthlab.runs.run import resolve
from synthlab.sweeps.sweep_grid import grid

CHOICES = {
    "task": ["mean", "length", "sum"],
    "encoding": ["nope", "rope", "learned", "randomized"],
    "outrep": ["identity", "rsqrt", "power"],
    "model": ["transformer"],
    "model.width": ["32", "64"],
    "model.norm": ["pre", "'post'"],
    "protocol": ["lab", "classroom", "paper"],
    "protocol.lr": ["1e-3", "0.003", "1"],
    "train_length": ["5", "10"],
    "seed": ["0", "3", "7"],
    "evaluation.largest": ["500", "1e3"],
}


def alone(overrides: dict[str, list[str]]) -> set[str]:
    """The identities of the runs of all combinations, each composed by Hydra."""
    jobs = product(*([f"{key}={value}" for value in values] for key, values in overrides.items()))
    return {resolve(compose(list(job))).id for job in jobs}


@contextmanager
def searching(folder: Path) -> Iterator[None]:
    """Hydra as ``--config-dir`` has it: it searches a folder of the user's own, too."""
    path = create_config_search_path(str(conf_dir()))
    path.prepend("command-line", f"file://{folder}", anchor="schema")
    with initialize_hydra():  # puts back what was there
        GlobalHydra.instance().clear()
        Hydra.create_main_hydra2("test", path)
        yield


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.lists(st.sampled_from(sorted(CHOICES)), min_size=1, max_size=4, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries(
            {key: st.lists(st.sampled_from(CHOICES[key]), min_size=1, max_size=2, unique=True) for key in keys}
        )
    )
)
@example({"encoding": ["nope", "support.user_classes:Backwards"], "seed": ["0", "1"]})
@example({"encoding.base": ["5", "6.5"], "encoding": ["rope"], "train_length": ["5", "10"]})
@example({"task": ["mean", "copy"], "model.width": ["32"], "encoding": ["rope", "learned"]})
@example({"task": ["text"], "extension": ["none", "yarn", "pi"], "extension.factor": ["4"]})
@example({"task": ["text", "recall"], "extension": ["yarn", "ntk"], "lora": ["lora", "longqlora"]})
@example({"protocol": ["lab", "paper"], "protocol.steps": ["7"], "protocol.lr": ["1e-3", "0.01"]})
def test_combinations_are_those_that_hydra_makes_whatever_the_order(overrides):
    words = [f"{key}={','.join(values)}" for key, values in overrides.items()]
    try:
        wanted = alone(overrides)
    except InputError as refused:
        with pytest.raises(InputError) as caught:
            grid(words)
        assert set(refused.lines) <= set(caught.value.lines)
    else:
        assert {config.id for config in grid(words).configs} == wanted


@pytest.mark.parametrize(
    ("overrides", "runs"),
    [
        (["seed=range(5)"], 5),
        (["encoding=glob([no*,ra*])", "seed=range(2)"], 4),
        (["seed=0,1", "seed=2"], 1),  # the last one holds, as on any command line
        (["seed=choice(1,2,1)"], 2),  # each run once
        (["train_length=5,10", "test_length='${train_length}'"], 2),
        (["+encoding.strength=1.0,2.0", "encoding.name=support.user_classes:Backwards"], 2),
        ([], 1),
    ],
)
def test_whatever_hydra_can_sweep_over(overrides, runs):
    assert len(grid(overrides).configs) == runs


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("results=a,b", "results=a,b: must be one for the whole sweep"),
        ("seed=range(1000000000)", "seed=range.1000000000.: too many runs; a sweep has at most 100,000"),
        ("seed=range(0,10,0)", "seed=range.0,10,0.: "),
        ("task=mean,sum seed=interval(0,1)", r"seed=interval\(0,1\): an interval has no list of values"),
        ("seed=range(5,5)", r"seed=range\(5,5\): has no value"),
        ("outrep=power outrep.p=-1,-0.5,null", "outrep.p=null: must be"),
        (
            "task=copy,length positions=offset",
            "positions=offset: Could not override 'positions'. .*; task=length has the groups inputs, encoding, ",
        ),
        ("task=mean,support.user_classes:Backwards", "task=support.user_classes:Backwards: must be a subclass of "),
        ("encoding=nope,rope model.heads=4,32 seed=0,1", "model.heads=32: encoding RoPE needs an even head"),
    ],
)
def test_a_sweep_with_anything_wrong_is_refused(overrides, message):
    with pytest.raises(InputError, match=f"^{message}"):
        grid(overrides.split())


def test_every_problem_of_every_combination_is_named_once():
    with pytest.raises(InputError) as caught:
        grid(["task=maen,summ,mean", "seed=range(3)", "protocol.lr=-1,1e-3"])
    assert len(caught.value.lines) == len(set(caught.value.lines))
    assert {line.split(":")[0] for line in caught.value.lines} == {"task=maen", "task=summ", "protocol.lr=-1"}


@pytest.mark.slow
def test_values_that_refer_to_others_are_those_of_their_own_combination(tmp_path):
    folder = tmp_path / "o'dd, {folder} ü"
    (folder / "protocol").mkdir(parents=True)
    (folder / "protocol" / "mine.yaml").write_text("defaults: [lab, _self_]\nname: mine\nsteps: ${train_length}\n")
    for protocols in ("mine", "lab,mine"):
        with searching(folder):
            made = grid([f"protocol={protocols}", "train_length=10,20"])
        mine = [config for config in made.configs if config.protocol.name == "mine"]
        assert [config.protocol.steps for config in mine] == [config.train_length for config in mine] == [10, 20]


@pytest.mark.slow
def test_a_member_that_changes_other_groups_is_composed_with_them(tmp_path):
    (tmp_path / "encoding").mkdir()
    (tmp_path / "encoding" / "wide.yaml").write_text(
        "# @package _global_\nencoding: {name: rope, base: 100.0}\ninputs: {p: 0.25}\n"
    )
    with searching(tmp_path):
        made = grid(["task=mean,sum", "encoding=nope,wide", "protocol=lab,paper"])
    assert len(made.configs) == 8
    for config in made.configs:
        wide = config.encoding != {"name": "nope"}
        assert config.inputs["p"] == (0.25 if wide else 0.5)
        assert not wide or config.encoding == {"name": "rope", "base": 100.0}
