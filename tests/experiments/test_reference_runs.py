"""What the reference run trains, and what is said of its cost."""

from pathlib import Path
from typing import NamedTuple

from experiments import reference_runs
from experiments.papers import papers
from experiments.reference_runs import Entry, describe_costs, list_entries, train
from synthlab.cli.studies import studies_of
from synthlab.config.base import resolve
from synthlab.config.composition import compose
from synthlab.storage.store import Store
from synthlab.training.execution import execute


class Ended(NamedTuple):
    returncode: int


SMALL = Entry("output_alignment", "5", {"seeds": 1}, Path())


def test_every_paper_is_in_the_reference_run_with_studies_that_it_has():
    entries = list_entries(Path("root"))
    assert {entry.paper for entry in entries} == set(papers())
    assert all(entry.file in studies_of(entry.paper) for entry in entries)
    assert len({entry.results for entry in entries if "save" not in entry.settings}) == 1


def test_costs_count_what_is_missing_and_a_shared_run_once(tmp_path, monkeypatch):
    entry = SMALL._replace(results=tmp_path)
    monkeypatch.setattr(reference_runs, "list_entries", lambda _: [entry, entry])
    runs = entry.plan_runs().values()
    first, second, total = [line.split() for line in describe_costs(tmp_path)][1:]
    assert [int(number) for number in first[1:3]] == [len(runs), len(runs)]
    assert [int(number) for number in second[1:]] == [0, 0, 0]
    assert total == ["all", *first[1:]]


def test_recorded_runs_are_not_missing(tmp_path, monkeypatch):
    entry, small = SMALL._replace(results=tmp_path), ["protocol.steps=4", "protocol.record_every=4", "test_length=12"]
    runs = [resolve(compose(["task=mean", *small, f"seed={seed}"])) for seed in range(3)]
    monkeypatch.setattr(Entry, "plan_runs", lambda _: {run.id: run for run in runs})
    monkeypatch.setattr(reference_runs, "list_entries", lambda _: [entry])
    Store(tmp_path).write(execute(runs[0]))
    assert [line.split()[:3] for line in describe_costs(tmp_path)][1:] == [
        [name, "3", "2"] for name in ("output_alignment/5", "all")
    ]


def test_training_stops_at_a_study_that_fails_and_begins_with_the_costs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference_runs, "describe_costs", lambda _: ["costs"])
    started, answers = [], iter([0, 2])
    monkeypatch.setattr(
        reference_runs.subprocess, "run", lambda words: started.append(words[3:]) or Ended(next(answers))
    )
    assert train(tmp_path) == 2
    assert started == [entry.command for entry in list_entries(tmp_path)[:2]]
    assert capsys.readouterr().err.startswith("costs\n")
