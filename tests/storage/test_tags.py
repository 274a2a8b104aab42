"""Tags: runs are named without being changed, and found by their names."""

import pytest

import synthlab
from support.configs import QUICK
from support.records import record
from synthlab.analysis.conditions import conditions
from synthlab.errors import InputError
from synthlab.storage.store import Store


def test_a_tag_marks_a_record_that_stays_as_it_is(tmp_path):
    Store(tmp_path).write(record())
    (path,) = (tmp_path / "runs").iterdir()
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    for tag in ("pilot", "v1.0"):
        Store(tmp_path, tag=tag).write(record())
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert Store(tmp_path).read(path.name).tags == ("pilot", "v1.0")
    assert (tmp_path / "tags" / "pilot" / path.name).read_bytes() == b""


@pytest.mark.parametrize("tag", ["", ".", "..", ".a", "a/b", "a b", "a,b", "x" * 101, 1.5, True, ["a"]])
def test_a_tag_that_cannot_name_a_folder_is_refused(tmp_path, tag):
    with pytest.raises(InputError, match=r"tag=.*: must be a name of letters, digits, _, - and \."):
        Store(tmp_path, tag=tag)


@pytest.mark.parametrize(
    ("condition", "tags", "holds"),
    [
        ("tag=a", "a,b", True),
        ("tag=c", "a,b", False),
        ("tag!=b", "a,b", False),
        ("tag!=c", "a,b", True),
        ("tag=null", None, True),
        ("tag=7", "7", True),
    ],
)
def test_a_condition_holds_for_any_of_several_tags(condition, tags, holds):
    assert conditions(condition)[0].holds(tags) == holds


def test_runs_asked_for_again_under_a_tag_are_marked_and_found(tmp_path):
    first = synthlab.run(seeds=2, results=tmp_path, tag="pilot", progress=False, **QUICK)
    assert [each.tags for each in first] == [("pilot",)] * 2
    again = synthlab.run(seed=1, results=tmp_path, tag="main", progress=False, **QUICK)
    assert again[0].environment == first[1].environment  # not trained again
    assert list(again.table()["tag"].unique()) == ["main,pilot"]
    assert set(synthlab.load_records(tmp_path, "tag=main")["seed"]) == {1}
    assert set(synthlab.load_records(tmp_path, "tag=pilot")["seed"]) == {0, 1}
