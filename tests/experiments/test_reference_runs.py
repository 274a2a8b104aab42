"""What the reference run trains, and what is said of its cost."""

from pathlib import Path
from typing import NamedTuple

from experiments import reference_runs
from experiments.papers import papers
from experiments.reference_runs import list_entries, train
from synthlab.cli.studies import studies_of


class Ended(NamedTuple):
    returncode: int


def test_every_paper_is_in_the_reference_run():
    entries = list_entries(Path("root"))
    assert {entry.paper for entry in entries} == set(papers())
    assert all(entry.file in studies_of(entry.paper) for entry in entries)
    assert len({entry.results for entry in entries if "save" not in entry.settings}) == 1


def test_training_stops_at_a_study_that_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference_runs, "describe_costs", lambda _: ["costs"])
    started, answers = [], iter([0, 2])
    monkeypatch.setattr(
        reference_runs.subprocess, "run", lambda words: started.append(words[3:]) or Ended(next(answers))
    )
    assert train(tmp_path) == 2
    assert started == [entry.command for entry in list_entries(tmp_path)[:2]]
    assert capsys.readouterr().err.startswith("costs\n")
