"""What the README's tables are made of: the verdicts of the reference runs, read back from their tables."""

import numpy as np
import pandas as pd

from experiments import reference
from experiments.committed import verdicts
from experiments.output_alignment.claims import CLAIMS
from synthlab.studies.checks import Check, Witnesses
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
