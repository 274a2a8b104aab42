"""The reference run: what is kept of it, and the verdicts that the tables of pages are made of."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments import reference
from experiments.committed_verdicts import CLAIMS, RUNS, TABLES, group_alike, read_tables, verdicts
from experiments.output_alignment.claims import CLAIMS as OF_NUMBERS
from experiments.reference import keep
from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.presentation.report import add_statements
from synthlab.studies.verdicts import Fit, Verdict

TWELVE = np.array([2.0, 3.0, 4.0] * 4)
HOLDS, FAILS = Check("h", TWELVE, low=1.0), Check("f", TWELVE, high=1.0)
OPEN = Check("u", TWELVE, high=3.5)
ONE = Check("o", np.array([2.0]), low=1.0)
FEW = Check("w", np.array([2.0, np.nan, 3.0, 4.0]), high=1.0)


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
    for name, width in {"a": 100, "b": 1344, "a_curve": 100}.items():
        Image.linear_gradient("L").resize((width, 600)).save(figures / f"{name}.png")
    return figures


def test_what_follows_from_runs_and_what_no_page_shows_is_not_kept(kept, tmp_path):
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
        assert (picture.size, picture.mode) == ((896, 400), "P")


def test_keeping_the_same_again_gives_the_same_bytes_and_keeping_others_leaves_the_first(kept, tmp_path):
    folder = tmp_path / "paper"
    keep(kept, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    keep(kept, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for path in kept.glob("b*"):
        path.unlink()
    (kept / "a_runs.csv").write_text("run,fit\ny,False\n")
    keep(kept, folder)
    runs = read_tables(folder / RUNS)
    assert (runs["a"]["run"].tolist(), runs["b"]["seed"].tolist()) == (["y"], [3])
    assert (folder / "b.png").exists()


def test_verdicts_are_told_with_what_their_checks_leave_open_and_how_many_runs_fit():
    checks = {
        "1a": [HOLDS, OPEN],
        "1b": [HOLDS, OPEN, FAILS],
        "1c": [ONE],
        "1c+": [ONE, FEW, FEW],
        "5": [HOLDS, FEW],
        "q": [],
    }
    missing = {"q": ["no runs of rope"]}
    fit = {"1a": Fit(3, 0, 2, "few seeds", Witnesses(2, "tasks")), "1b": Fit(4, 1, 2, "holds", Witnesses(2))}
    fit |= {"1c": Fit(1, 0, 1, "few seeds", Witnesses(1))}
    judged = [
        Verdict(OF_NUMBERS[claim], "Figure 1", made, missing.get(claim, []), fit.get(claim))
        for claim, made in checks.items()
    ]
    found = {row.pop("id"): row for row in verdicts(add_statements(judged))}
    assert [row.pop("says") for row in found.values()] == [OF_NUMBERS[claim].statement for claim in checks]
    open_check, failing = "undecided: u: 3 [2, 4], needed under 3.5", "fails: f: 3 [2, 4], needed under 1"
    mixed = "mixed (1 of 3 checks holds, 1 fails, 1 undecided)"
    few = "no verdict from 3 seeds: w: 3 [2, 4] (1 value missing), needed under 1"
    one, of_tasks = "no verdict from 1 seed: o: 2, needed at least 1", "2 of 3: 2 tasks: no verdict"
    for claim, verdict, others, fits, rest in (
        ("1a", "undecided at 12 seeds (1 of 2 checks holds, 1 undecided)", ["mixed", "holds"], of_tasks, [open_check]),
        ("1b", mixed, ["mixed", "mixed"], "2 of 4: holds", [open_check, failing]),
        ("1c", "1 seed: no verdict (o: 2, needed at least 1)", [], "1 of 1", [one]),
        ("1c+", "1 seed: no verdict (all seeds are in the range in 1 of 3 checks, none in 2)", [], "", [one, few, few]),
        ("5", "3 seeds: no verdict (w: 3 [2, 4] (1 value missing), needed under 1)", [], "", [few]),
        ("q", "not tested (no runs of rope)", [], "", missing["q"]),
    ):
        at = dict(zip(("half", "twice"), others, strict=False))
        assert found[claim] == {"verdict": verdict, "others": at, "fit": fits, "rest": rest}


def test_verdicts_link_to_their_section_and_so_does_none():
    for verdict in ("does not hold", "undecided at 5 seeds", "3 seeds: no verdict (0.1 [0, 0.2], needed under 1)"):
        assert reference.link_verdict(verdict, "p.md#s").startswith("[")
        assert reference.link_verdict(verdict, "") == verdict
    linked = reference.link_verdict("3 seeds: no verdict (all)", "p.md#s")
    assert linked == "[3 seeds: no verdict](p.md#s) (all)"


@pytest.mark.parametrize(
    ("verdict", "fit", "note"),
    [
        ("holds", "83 of 375: not tested", " (83 of 375 runs fit)"),
        ("mixed (1 of 2 checks holds)", "4 of 10", " (4 of 10 runs fit)"),
        ("holds", "5 of 10", ""),
        ("undecided at 5 seeds", "1 of 10", ""),
        ("holds", "", ""),
    ],
)
def test_a_decided_claim_most_of_whose_runs_do_not_fit_says_so(verdict, fit, note):
    assert reference.note_fit({"verdict": verdict, "fit": fit}) == note


def test_tables_go_into_the_readme_and_every_page_that_has_their_block(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    for name in ("rejudge_all", "renew_statements"):  # the committed tables are not the test's to write
        monkeypatch.setattr(reference, name, dict)
    monkeypatch.setattr(reference.sys, "argv", ["reference"])
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("before\n<!-- findings_crasp -->\nstale\n<!-- /findings_crasp -->\nafter\n")
    (tmp_path / "docs" / "page.md").write_text(
        "# Page\n## Why 1/x wins\n<!-- crasp -->\n<!-- /crasp -->\n## Speed\n<!-- bench -->\n<!-- /bench -->\n"
    )
    (tmp_path / "docs" / "other.md").write_text("nothing of ours\n")
    reference.main()
    readme, page = (tmp_path / "README.md").read_text(), (tmp_path / "docs" / "page.md").read_text()
    assert readme.startswith("before\n<!-- findings_crasp -->\n| claim |")
    assert readme.endswith("<!-- /findings_crasp -->\nafter\n")
    assert "stale" not in readme
    assert "| [not tested](page.md#why-1x-wins) (no run fits) |" in readme
    assert "| crasp.C1 | " in page
    assert "| measure | measured |" in page
    assert (tmp_path / "docs" / "other.md").read_text() == "nothing of ours\n"


def test_claims_of_ours_that_differ_by_the_model_alone_share_a_row():
    def row(says: str, verdict: str) -> dict[str, object]:
        return {"says": says, "verdict": verdict, "section": "page.md#there"}

    rows = [row("NoPE: it rises: fast.", "holds"), row("RoPE: it rises: fast.", "fails")]
    rows += [row("alone: it falls.", "holds"), row("Nothing else.", "holds")]
    merged = reference.merge_claims(rows)
    assert [each["says"] for each in merged] == ["It rises: fast.", "alone: it falls.", "Nothing else."]
    assert merged[0]["verdict"] == "holds: NoPE<br>fails: RoPE"
    assert merged[1:] == rows[2:]


def test_a_shared_row_names_up_to_three_models_of_each_verdict_and_counts_more():
    undecided, holds = "[undecided](page.md#there)", "[holds](page.md#there)"
    few = {"NoPE": f"{undecided} at 5 seeds (1 of 2 checks holds)", "RoPE": holds, "ALiBi": f"{undecided} at 3 seeds"}
    assert reference.merge_verdicts(few) == f"{undecided}: NoPE; ALiBi<br>{holds}: RoPE"
    assert reference.merge_verdicts(few | {"T5": holds}) == f"{undecided}: 2 of 4 models<br>{holds}: 2 of 4 models"


def test_claims_that_say_the_same_of_several_models_stand_together():
    rows = [{"says": f"(Ours.) {says}"} for says in ("NoPE: it rises.", "NoPE: it falls.", "RoPE: it rises.")]
    found = [(row["shared"], row["about"]) for row in group_alike(rows)]
    assert found == [("It rises.", "NoPE"), ("", "RoPE"), ("It falls.", "NoPE")]
    assert [row["says"] for row in group_alike(rows)] == [rows[place]["says"] for place in (0, 2, 1)]
