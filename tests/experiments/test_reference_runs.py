"""What the reference run trains, and what is said of its cost."""

from pathlib import Path

from experiments.papers import papers
from experiments.reference_runs import list_entries
from synthlab.cli.studies import studies_of


def test_every_paper_is_in_the_reference_run():
    entries = list_entries(Path("root"))
    assert {entry.paper for entry in entries} == set(papers())
    assert all(entry.file in studies_of(entry.paper) for entry in entries)
    assert len({entry.results for entry in entries if "save" not in entry.settings}) == 1
