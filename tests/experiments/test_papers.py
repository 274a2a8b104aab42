"""Papers on sequence tasks: the command, on a grid of the user's own, and what it refuses."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from omegaconf import OmegaConf

from experiments.papers import papers
from experiments.reference import REFERENCE
from experiments.reference_runs import list_entries
from support.figures import names_of, studies
from support.hasty import hastily
from synthlab.cli.studies import studies_of
from synthlab.runs.composition import compose

OWN = """
s:
  title: two tasks
  seeds: 2
  fixed: {train_length: 4, model.width: 16, model.heads: 2, model.depth: 1, evaluation.sequences: 4}
  arms:
    learned: {encoding: learned, positions: offset}
    nope: {encoding: nope}
  tasks:
    aa_star:
      title: (aa)*
      fixed: {task: aa_star, test_length: 12, bins: [[5, 8], [9, 12]]}
      claims: [languages]
    copy: {title: copy, fixed: {task: copy, test_length: 12}, arms: {nope: {model.depth: 2}}, claims: [fail]}
"""


@pytest.fixture
def own(tmp_path):
    """Arguments of a grid of the user's own, of the paper crasp."""
    (tmp_path / "own" / "study" / "crasp").mkdir(parents=True)
    (tmp_path / "own" / "study" / "crasp" / "own.yaml").write_text(OWN)
    return ["--config-dir", str(tmp_path / "own"), "crasp/own", "workers=1", f"results={tmp_path}/results"]


@pytest.fixture
def hasty(monkeypatch):
    def shortened(config, quick):
        quick["evaluation"] |= {"sequences": 4}
        quick["stop"] |= {"every": 1, "sequences": 4}

    monkeypatch.setattr("synthlab.studies.rounds.ensure", hastily(shortened))


@pytest.mark.slow
def test_command_writes_tables_and_claims(invoke, hasty, own, tmp_path):
    outcome = invoke("experiments", *own)
    assert (outcome.status, outcome.err.count("Traceback")) == (0, 0), outcome.err
    folder = tmp_path / "results" / "crasp" / "figures"
    table = pd.read_csv(folder / "s_table.csv")
    # Of (aa)* the authors test strings of 102 to 148 and of 150 to 194 letters, and train on at most 98. Of our 4
    # that is 4.2 to 6.04 and 6.1 to 7.9, or up to the next length that the language has, 6 to 8 and 8.
    ours, theirs = [(0, 1, 4), (0, 5, 8), (0, 9, 12)], [(1, 6, 8), (2, 8, 8)]
    found = table.assign(first=table["first"].where(table["last"] > 4, 1))  # (aa)* begins with two letters
    assert found[["task", "arm", "published_range", "first", "last"]].values.tolist() == [
        [task, arm, *lengths]
        for task, arm, ranges in (
            ("aa_star", "learned", ours + theirs),
            ("aa_star", "nope", ours + theirs),
            ("copy", "nope", ours),
        )
        for lengths in ranges
    ]
    assert (table["runs"] == 2).all()
    assert set(pd.read_csv(folder.parent / "claims.csv")["claim"]) == {"crasp.languages", "crasp.fail"}
    again = invoke("experiments", *own, "replot=true")
    assert (again.status, again.out) == (0, outcome.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "study"),
    [
        *((name, study) for name in ("crasp", "nope", "chomsky", "addition") for study in ("tasks", "quick")),
        *(("eigenvalues", "quick"), ("flipflops", "quick")),
    ],
)
def test_every_paper_in_two_steps(name, study, invoke, hasty, tmp_path):
    paper = compose([f"study={name}/default"], "study")["study"][study]
    first: dict[str, str] = {}  # the first task of each claim; all of them would take a minute
    for task, about in paper["tasks"].items():
        first |= dict.fromkeys(set(about.get("claims", [])) - set(first), task)
    if first:
        paper["tasks"] = {task: about for task, about in paper["tasks"].items() if task in first.values()}
    (tmp_path / "study" / name).mkdir(parents=True)
    OmegaConf.save({study: paper}, tmp_path / "study" / name / "part.yaml")
    given = ["--config-dir", str(tmp_path), f"{name}/part", "seeds=1", "workers=1", f"results={tmp_path}"]
    outcome = invoke("experiments", *given)
    assert (outcome.status, outcome.err.count("Traceback")) == (0, 0), outcome.err
    table = pd.read_csv(tmp_path / name / "figures" / f"{study}_table.csv")
    assert table["task"].unique().tolist() == list(paper["tasks"])
    for claim in {claim for about in (paper, *paper["tasks"].values()) for claim in about.get("claims", [])}:
        assert re.search(rf"^{name}\.{claim} \(", outcome.out, re.M)


@pytest.mark.slow
def test_a_task_whose_runs_all_diverged(invoke, own, tmp_path, monkeypatch):
    train = hastily(lambda config, quick: quick["stop"].update(every=1, sequences=4))

    def ensure(*given, **how):
        return [
            replace(each, diverged_at=1) if each.config.task["name"] == "copy" else each
            for each in train(*given, **how)
        ]

    monkeypatch.setattr("synthlab.studies.rounds.ensure", ensure)
    outcome = invoke("experiments", *own)
    assert outcome.status == 1  # runs diverged
    assert set(pd.read_csv(tmp_path / "results/crasp/figures/s_table.csv")["task"]) == {"aa_star"}
    assert re.search(r"^crasp\.fail .*not tested", outcome.out, re.M)


def test_papers_are_the_folders_that_have_one():
    found = papers()
    assert {"output_alignment", "long_short_alignment", "crasp"} <= set(found)
    for name, load in found.items():
        assert load().name == name
        assert {"default", "quick"} <= set(studies_of(name))


@pytest.mark.parametrize("name", papers())
def test_every_claim_belongs_to_a_study(name):
    paper = papers()[name]()
    for claim in paper.claims.values():
        assert all([claim.statement.endswith("."), claim.where, claim.quantity, claim.why])
    every = [study for each in names_of(name) for study in studies(paper, each).values()]
    used = [
        {claim for grid in study.grids.values() for claim in grid.claims}.union(*study.together.values())
        for study in every
    ]
    assert set().union(*used) == set(paper.claims)


def test_papers_with_committed_runs_are_in_the_reference_run():
    entries = list_entries(Path("root"))
    assert {entry.paper for entry in entries} == {name for name in papers() if (REFERENCE / name).exists()}
    assert all(entry.file in studies_of(entry.paper) for entry in entries)
    assert len({entry.results for entry in entries if "save" not in entry.settings}) == 1
