import math
from importlib import metadata

import pytest
import yaml

from support.configs import composed
from synthlab.errors import InputError, UnknownFamily
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.languages import TASKS as LANGUAGES
from synthlab.numbers.family import GROUPS
from synthlab.numbers.tasks import TASKS
from synthlab.runs.composition import Composer, compose, to_overrides
from synthlab.runs.conf_files import conf_dir, tasks_of
from synthlab.runs.run import resolve, run_type
from synthlab.sequences.positions import POSITIONS

CONFIG = compose([])


def test_a_family_whose_module_is_not_there_names_what_it_needs(monkeypatch):
    entry = metadata.EntryPoint("uninstalled", "not_here.runs:Runs", "synthlab.families")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])
    with pytest.raises(UnknownFamily) as raised:
        run_type("uninstalled")
    why = "cannot be imported here (ModuleNotFoundError: No module named 'not_here')"
    assert raised.value.lines == (f"family=uninstalled: needs not_here.runs:Runs, which {why}",)


REGISTRIES = [(registry, "numbers" if registry is TASKS else None) for registry in GROUPS.values()]
REGISTRIES += [(LANGUAGES, "language"), (POSITIONS, None), (PATTERNS, None)]


@pytest.mark.parametrize(("registry", "family"), REGISTRIES)
def test_every_member_has_a_config_file_and_every_file_a_member(registry, family):
    files = {path.stem: yaml.safe_load(path.read_text()) for path in (conf_dir() / registry.group).glob("*.yaml")}
    names = {stem: about["name"] for stem, about in files.items() if family is None or stem in tasks_of(family)}
    assert names == dict(zip(registry, registry, strict=True))


def leaves(values: dict, prefix: str = ""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


NUMBERS = [key for key, value in leaves(resolve(CONFIG).model_dump()) if isinstance(value, int | float)]


@pytest.mark.parametrize("key", NUMBERS)
def test_every_number_of_the_config_is_part_of_the_identity(key):
    config = resolve(CONFIG)
    value = dict(leaves(config.model_dump()))[key]
    changed = value / 2 if isinstance(value, float) and value else value + 1
    if key in ("model.heads", "model.width", "evaluation.largest"):
        changed = 2 * value
    assert resolve(composed(f"{key}={changed}")).id != config.id


@pytest.mark.parametrize("words", ["encoding=self_extend encoding.window={}", "task=copy stop.exact=0.9 stop.every={}"])
def test_a_number_beyond_bounds_is_refused(words):
    with pytest.raises(InputError, match=f"={10**30}: must be less than "):
        resolve(compose(words.format(10**30).split()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["protocol.lr=0.003"], ["protocol.lr=3e-3"]),
        (["model.mlp_ratio=4"], ["model.mlp_ratio=4.0"]),
        (["encoding=randomized", "encoding.inner.base=10000"], ["encoding=randomized", "encoding.inner.base=1e4"]),
        (["outrep.shift=-0.0"], ["outrep.shift=0"]),
        (["task=sum", "outrep=rsqrt"], ["task=sum", "outrep=rsqrt", "outrep.shift=1.0"]),  # its default there
        ([], ["results=/elsewhere"]),
    ],
)
def test_equal_settings_are_one_run(one, other):
    assert resolve(compose(one)).id == resolve(compose(other)).id


class Interrupting(float):
    """A number during whose comparison the user presses Ctrl-C."""

    def __ne__(self, other):
        raise KeyboardInterrupt


@pytest.mark.parametrize("of", [lambda run: run.protocol, lambda run: run], ids=["protocol", "run"])
def test_ctrl_c_while_settings_are_dumped_stays_one(of):
    run = resolve(CONFIG)
    run = run.model_copy(update={"protocol": run.protocol.model_copy(update={"weight_decay": Interrupting()})})
    with pytest.raises(KeyboardInterrupt):
        of(run).model_dump()


def test_python_values_become_overrides():
    nested = {"task": "sum", "model": {"width": 64}}
    dotted = {"outrep.shift": None, "protocol.lr": 1e-3, "encoding": "my.own:Class"}
    words = "task=sum model.width=64 outrep.shift=null protocol.lr=0.001 encoding=my.own:Class"
    assert to_overrides(nested | dotted) == words.split()
    with pytest.raises(InputError, match=r"seed=<object.*>: must be a number"):
        to_overrides({"seed": object()})


USED = {
    "protocol.weight_decay": 0.1,
    "protocol.clip": 1.0,
    "protocol.schedule": "linear",
    "protocol.options": {"momentum": 0.5},
    "curriculum.start": 2,
    "stop.loss": 1e-4,
}


@pytest.mark.parametrize("key", USED)
def test_settings_that_came_later_are_part_of_the_identity_where_they_are_used(key):
    optimizer = {"protocol.weight_decay": "adamw", "protocol.options": "torch.optim:SGD"}.get(key, "adam")
    given = [f"protocol.optimizer={optimizer}", "protocol.options.momentum=0.9" if "options" in key else "seed=0"]
    raw = compose(given)
    changed = Composer(given).compose({key: USED[key]})
    assert resolve(changed).id != resolve(raw).id
    assert run_type(changed["family"]).from_raw(resolve(changed).model_dump()) == resolve(changed)


NONSENSE = ("x", math.inf)  # another type, and no number; numbers out of bounds besides
OF_LANGUAGES = ("encoding", "extension", "positions", "lora", "pattern")  # groups whose members all can be had there
MEMBERS = [
    (group, path.stem, {"task": "", "outrep": "task=length", "inputs": "task=length"}.get(group, "task=text"))
    for group in ("task", "outrep", "inputs", *OF_LANGUAGES)
    for path in sorted((conf_dir() / group).glob("*.yaml"))
]
ANY_SIGN = ("outrep.p", "outrep.shift", "task.hints")  # of hints there may be fewer than none


def refuse_nonsense(given: tuple[str, ...], part: dict) -> None:
    """Each number of a part of a config is refused by its name where it is nonsense."""
    composer = Composer(given)
    for key, number in leaves(part):
        if isinstance(number, int | float) and not isinstance(number, bool):
            names = (f"{key}=", f"{key.replace('task.of.', 'task.')}=")
            for value in (*NONSENSE, *(() if key in ANY_SIGN else (-(2**70), -1e300))):
                with pytest.raises(InputError) as refused:
                    resolve(composer.compose({key: value}))
                assert refused.value.lines[0].startswith(names)


@pytest.mark.parametrize(("group", "name", "task"), MEMBERS)
def test_nonsense_for_a_number_of_any_member_is_refused_by_name(group, name, task):
    given = (*task.split(), f"{group}={name}")
    refuse_nonsense(given, {group: composed(*given)[group]})


@pytest.mark.parametrize("task", ["length", "copy", "text"])
def test_nonsense_for_a_number_of_any_run_is_refused_by_name(task):
    given = (f"task={task}",)
    refuse_nonsense(given, {key: part for key, part in composed(*given).items() if key not in ("task", "tracker")})


def test_a_class_of_one_command_makes_no_group_in_the_next():
    compose(["task=text", "model=support.user_classes:Bigram"])
    assert compose(["model=/a/folder"], "evaluate", "evaluate")["model"] == "/a/folder"
