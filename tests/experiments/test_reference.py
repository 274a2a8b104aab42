"""The reference run: what it trains, and what is kept of it. tests/test_readme.py holds the tables of pages to it."""

from pathlib import Path

import pytest
from PIL import Image

from experiments import reference
from experiments.committed_verdicts import CLAIMS, RUNS, TABLES, read_tables
from experiments.papers import papers
from experiments.reference import keep
from experiments.reference_runs import list_entries
from synthlab.cli.studies import studies_of

TABLE = "series,length,median\nnope,1,0.10\nrope,2,\n"


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    """A folder of the figures of two studies of a paper, and a site whose one page shows a picture and a table."""
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("reference/paper/b.png reference/paper/b_cost.csv")
    figures = tmp_path / "figures"
    figures.mkdir()
    tables = {"a_runs": "run,fit\nx,True\n", "b_runs": "run,seed\n0012,3\n", "b_claims": "claim,fit\nC1,\n"}
    shown = {"b_cost": "step\n1\n", "a_curve": TABLE, "b_change": "series,median\nnope,1\n", "b_table": "fit\n1\n"}
    for name, text in (tables | shown).items():
        (figures / f"{name}.csv").write_text(text)
    for name, width in {"a": 100, "b": 2688, "a_curve": 100}.items():
        Image.linear_gradient("L").resize((width, 600)).save(figures / f"{name}.png")
    return figures


def test_what_is_kept(kept, tmp_path):
    folder = tmp_path / "paper"
    keep(kept, folder)
    assert {path.name for path in folder.iterdir()} == {RUNS, TABLES, CLAIMS, "b.png", "b_cost.csv"}
    assert {name: list(table) for name, table in read_tables(folder / RUNS).items()} == {
        "a": ["run", "fit"],
        "b": ["run", "seed"],
    }
    assert list(read_tables(folder / TABLES)) == ["a_curve", "b_table"]
    assert read_tables(folder / TABLES)["a_curve"].to_csv(index=False) == TABLE.replace("0.10", "0.1")
    assert list(read_tables(folder / CLAIMS)["b"]) == ["claim"]
    with Image.open(folder / "b.png") as picture:
        assert (picture.size, picture.mode) == ((1792, 400), "P")
    for path in kept.glob("b*"):
        path.unlink()
    (kept / "a_runs.csv").write_text("run,fit\ny,False\n")
    keep(kept, folder)  # what the folder lacks now is left as it is
    runs = read_tables(folder / RUNS)
    assert (runs["a"]["run"].tolist(), runs["b"]["seed"].tolist()) == (["y"], [3])
    assert (folder / "b.png").exists()


def test_every_paper_is_in_the_reference_run():
    entries = list_entries(Path("root"))
    assert {entry.paper for entry in entries} == set(papers())
    assert all(entry.file in studies_of(entry.paper) for entry in entries)
    assert len({entry.results for entry in entries if "save" not in entry.settings}) == 1
