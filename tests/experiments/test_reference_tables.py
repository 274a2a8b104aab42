"""The page that lists all members: every registry is on it, and the pages on encodings agree with it on the hooks."""

import pytest

from experiments.reference_tables import LIST, find_hooks, make_tables
from synthlab.language.languages import TASKS as LANGUAGES
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.tasks import INPUTS, TASKS
from synthlab.sequences.tasks import TASKS as SEQUENCES


@pytest.fixture(scope="module")
def tables() -> dict:
    return make_tables()


def members(rows: list[dict]) -> set[str]:
    return {next(iter(row.values())).strip("`") for row in rows}


@pytest.mark.parametrize(
    ("block", "registry"),
    [
        ("tasks_numbers", TASKS),
        ("tasks_sequences", SEQUENCES),
        ("tasks_language", LANGUAGES),
        ("inputs", INPUTS),
        ("encodings", ENCODINGS),
        ("maps", OUTREPS),
    ],
)
def test_every_member_of_a_registry_has_a_line(tables, block, registry):
    rows = tables[LIST + block]
    assert members(rows) >= set(registry)
    assert all(row["what it is"] for row in rows)


def test_hooks_are_all_that_an_encoding_may_override():
    names = [name for name, text in find_hooks() if text]
    public = {name for name, member in vars(Encoding).items() if name[0] != "_" and not isinstance(member, property)}
    assert set(names) == {name for name in public if name not in ("training", "dump_patches", "call_super_init")}
