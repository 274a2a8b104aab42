"""What the README's tables are made of: the verdicts of the reference runs, read back from their tables."""

import numpy as np
import pandas as pd

from experiments import reference
from experiments.committed import verdicts
from experiments.crasp import tables as crasp_tables
from experiments.nope import tables as nope_tables
from experiments.output_alignment.claims import CLAIMS
from experiments.reference import keep
from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.presentation.pages import template
from synthlab.studies.presentation.report import verdict_table
from synthlab.studies.verdicts import Fit, Verdict

HOLDS = Check("h", np.array([2.0, 3.0, 4.0]), low=1.0)
FAILS = Check("f", np.array([2.0, 3.0, 4.0]), high=1.0)
OPEN = Check("u", np.array([2.0, 3.0, 4.0]), high=3.5)
ONE = Check("o", np.array([2.0]), low=1.0)


def table(*judged: Verdict) -> pd.DataFrame:
    return verdict_table(judged)


def test_verdicts_are_told_with_what_their_checks_leave_open_and_how_many_runs_fit(tmp_path):
    checks = {"1a": [HOLDS, OPEN], "1b": [HOLDS, OPEN, FAILS], "1c": [ONE], "q": []}
    missing = {"q": ["no runs of rope"]}
    fit = {"1a": Fit(3, 0, 2, "undecided", Witnesses(2)), "1b": Fit(4, 1, 2, "holds", Witnesses(2))}
    judged = [
        Verdict(CLAIMS[claim], "Figure 1", made, missing.get(claim, []), fit.get(claim))
        for claim, made in checks.items()
    ]
    table(*judged).to_csv(tmp_path / "claims.csv", index=False)
    open_check = "undecided: u: 3 [2, 4], needed under 3.5"
    assert verdicts(tmp_path) == {
        "1a": {
            "verdict": "undecided at 3 seeds (1 of 2 checks holds)",
            "others": {"half": "mixed", "twice": "holds"},
            "fit": "2 of 3",
            "rest": [open_check],
        },
        "1b": {
            "verdict": "mixed (3 seeds) (1 of 3 checks holds, 1 fails)",
            "others": {"half": "mixed", "twice": "mixed"},
            "fit": "2 of 4: holds",
            "rest": [open_check, "fails: f: 3 [2, 4], needed under 1"],
        },
        "1c": {
            "verdict": "holds (one run)",
            "others": {"half": "holds", "twice": "holds"},
            "fit": "",
            "rest": [],
        },
        "q": {
            "verdict": "not judged: no runs of rope",
            "others": {},
            "fit": "",
            "rest": ["no runs of rope"],
        },
    }


def test_tables_go_into_the_readme_and_every_page_that_has_their_block(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "judged_anew", dict)  # the committed tables are not the test's to write
    monkeypatch.setattr(reference.sys, "argv", ["reference"])
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("before\n<!-- verdicts -->\nstale\n<!-- /verdicts -->\nafter\n")
    (tmp_path / "docs" / "page.md").write_text(
        "<!-- output_alignment -->\n<!-- /output_alignment -->\n<!-- bench -->\n<!-- /bench -->\n"
    )
    (tmp_path / "docs" / "other.md").write_text("nothing of ours\n")
    reference.main()
    readme, page = (tmp_path / "README.md").read_text(), (tmp_path / "docs" / "page.md").read_text()
    assert readme.startswith("before\n<!-- verdicts -->\n| claim |")
    assert readme.endswith("<!-- /verdicts -->\nafter\n")
    assert "stale" not in readme
    assert "| output_alignment.1a | " in page
    assert "| measure | measured |" in page
    assert (tmp_path / "docs" / "other.md").read_text() == "nothing of ours\n"


def test_papers_on_tokens_have_tables_of_ours_beside_the_published(tmp_path):
    numbers = {"least": 0.25, "greatest": 1.0, "fit": 4, "runs": 5, "train_length": 4, "expected": True}
    numbers |= {"task": "copy", "published_all": 0.5}
    ranges = [(0, 1, 4), (0, 5, 8), (0, 9, 12)]  # our own
    rows = [
        {"arm": arm, "published_range": number, "first": first, "last": last, "median": median, **numbers, **theirs}
        for arm, theirs, every in (
            ("learned", {"published": 0.75, "verdict": "holds"}, [(*each, 0.5) for each in ranges]),
            # the second published range was tested at 1 to 1.5 times the training length
            ("nope", {"published": np.nan, "verdict": "fails"}, [*((*each, 0.5) for each in ranges), (2, 5, 6, 0.75)]),
        )
        for number, first, last, median in every
    ]
    figures, kept = tmp_path / "crasp" / "figures", tmp_path / "kept"
    figures.mkdir(parents=True)
    pd.DataFrame(rows).to_csv(figures / "tasks_table.csv", index=False)
    pd.DataFrame(rows).to_csv(figures / "tasks_copy.csv", index=False)
    for name in ("tasks", "tasks_copy"):
        (figures / f"{name}.png").write_bytes(b"sheet or panel")
    (tmp_path / "crasp" / "claims.csv").write_text("of all")
    keep(tmp_path / "crasp", kept, "claims.csv")
    assert sorted(path.name for path in kept.iterdir()) == [
        "claims.csv",
        "tasks.png",
        "tasks_copy.csv",
        "tasks_table.csv",
    ]
    found = crasp_tables.blocks(kept)
    pd.DataFrame(rows).query("published_range == 0").to_csv(kept / "tasks_table.csv", index=False)
    found |= nope_tables.blocks(kept)
    assert list(found) == ["crasp_results", "nope_results"]
    learned, nope = found["crasp_results"]
    here, fit = "0.500 [0.250, 1.000]", "4 of 5"
    last = ["0.750, of all 0.500", "2 to 3", here, "holds", "the same", fit]
    assert list(learned.values()) == ["copy", "learned, offsets", "yes", *last]
    own = ["-, of all 0.500", "1 to 1.5", "0.750 [0.250, 1.000]", "fails", here, fit]
    assert list(nope.values()) == ["copy", "none", "yes", *own]
    assert found["nope_results"] == [{"task": "copy", "learned": "0.500 (0.750)", "nope": "0.500 (-)"}]
    text = template("experiments", "readme.md.j2", markup=False).render(
        block="nope_results", rows=found["nope_results"]
    )
    assert text.strip().splitlines() == [
        "| task | learned | nope |",
        "| --- | --- | --- |",
        "| copy | 0.500 (0.750) | 0.500 (-) |",
    ]
