"""The page that lists all members: every registry is on it, and the pages on encodings agree with it on the hooks."""

import re

import pytest

from experiments.reference import ROOT
from experiments.reference_tables import HOOKS, LIST, find_hooks, list_members, make_tables
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.languages import LANGUAGES
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.positions.samplers import SAMPLERS
from synthlab.regression.inputs import INPUTS
from synthlab.regression.outrep import OUTREPS
from synthlab.regression.tasks import TASKS
from synthlab.sequences.tasks import PROBLEMS

CODE = re.compile(r"`(\w+)(?:\([^`]*\))?`")


@pytest.fixture(scope="module")
def tables() -> dict:
    return make_tables()


def members(rows: list[dict]) -> set[str]:
    return {next(iter(row.values())).strip("`") for row in rows}


@pytest.mark.parametrize(
    ("block", "registry"),
    [
        ("tasks_numbers", TASKS),
        ("tasks_sequences", PROBLEMS),
        ("tasks_language", LANGUAGES),
        ("inputs", INPUTS),
        ("encodings", ENCODINGS),
        ("maps", OUTREPS),
        ("positions", SAMPLERS),
        ("patterns", PATTERNS),
    ],
)
def test_every_member_of_a_registry_has_a_line(tables, block, registry):
    rows = tables[LIST + block]
    assert members(rows) >= set(registry)
    assert all(row["what it is"] for row in rows)


def test_an_extension_that_is_an_encoding_has_the_line_of_the_encoding():
    lines = {name: row["what it is"] for row in list_members("extension") for name in members([row])}
    encodings = {name: row["what it is"] for row in list_members("encoding") for name in members([row])}
    assert lines["yarn"] == encodings["yarn"] != ""
    assert lines["none"] == "no context extension: the model is tested as trained"


def test_metrics_have_their_meaning_and_direction(tables):
    rows = {row["metric"]: row for row in tables[LIST + "metrics_numbers"]}
    assert rows["`mse`"] == {"metric": "`mse`", "meaning": "mean squared error, original scale", "better": "lower"}
    assert rows["`bias`"]["better"] == ""


def test_hooks_are_all_that_an_encoding_may_override():
    names = [name for name, text in find_hooks() if text]
    assert len(names) == len(set(names))
    public = {name for name, member in vars(Encoding).items() if name[0] != "_" and not isinstance(member, property)}
    assert set(names) == {name for name in public if name not in ("training", "dump_patches", "call_super_init")}


def test_the_readme_and_the_guide_name_the_hooks_that_there_are():
    hooks = {name for name, _ in find_hooks()}
    readme = (ROOT / "README.md").read_text()
    words, _, rest = readme.partition("](docs/reference_tables.md#hooks-of-an-encoding): ")
    named = set(CODE.findall(rest.split(". ")[0]))
    assert words.endswith("overrides any of [six hooks")
    guide = (ROOT / "docs" / "extending.md").read_text().split("## An encoding\n")[1].split("\n## ")[0]
    tables = [set(CODE.findall(line.split("|")[1])) for line in guide.splitlines() if line.startswith("| `")]
    assert set().union(*tables) == hooks
    assert named == set(HOOKS) < hooks
    assert len(HOOKS) == 6  # as the README and the guide count them
    members = re.search(r"Encoding\(\)\n   :members: (.*)", (ROOT / "docs" / "api.md").read_text())[1].split(", ")
    assert set(members) == hooks - {"draws_positions"}  # an attribute


def test_a_hook_has_the_shapes_of_what_it_takes_and_returns(tables):
    rows = {row["hook"]: row for row in tables[LIST + "hooks"]}
    assert set(rows) == {f"`{name}`" for name in HOOKS}
    assert rows["`bias`"]["takes"] == "query [E, B, Q, 1], key [E, B, Q, K]"
    assert rows["`bias`"]["returns"] == "[E, B, H, Q, K] or None"
    assert rows["`products`"]["takes"] == "q [..., d], k [..., d], relative [..., Q, K] or None, multiply (a function)"
    others = {row["member"] for row in tables[LIST + "members"]}
    assert others == {f"`{name}`" for name, _ in find_hooks()} - set(rows)


@pytest.mark.parametrize(("group", "registry"), [("task", TASKS), ("encoding", ENCODINGS), ("outrep", OUTREPS)])
def test_the_tutorial_names_every_member(group, registry):
    lines = (ROOT / "docs" / "tutorial.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"| `{group}` |")]
    assert set(CODE.findall(line)) == {group, *registry}
