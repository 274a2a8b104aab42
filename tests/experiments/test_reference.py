"""What the README's tables are made of: the verdicts of the reference runs, read back from their tables."""

import numpy as np
import pandas as pd
import pytest

from experiments import reference
from experiments.output_alignment.claims import CLAIMS
from experiments.reference import language_verdicts, verdicts
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
            "verdict": "undecided at 3 seeds",
            "others": {"half": "holds in part", "twice": "holds"},
            "fit": "2 of 3",
            "rest": [open_check],
            "answers": {"holds": 1, "fails": 0, "undecided": 1},
        },
        "1b": {
            "verdict": "holds in part",
            "others": {"half": "holds in part", "twice": "holds in part"},
            "fit": "2 of 4: holds",
            "rest": [open_check, "fails: f: 3 [2, 4], needed under 1"],
            "answers": {"holds": 1, "fails": 1, "undecided": 1},
        },
        "1c": {
            "verdict": "holds (one run)",
            "others": {"half": "holds", "twice": "holds"},
            "fit": "",
            "rest": [],
            "answers": {"holds": 1, "fails": 0, "undecided": 0},
        },
        "q": {
            "verdict": "not judged",
            "others": {},
            "fit": "",
            "rest": ["no runs of rope"],
            "answers": dict.fromkeys(("holds", "fails", "undecided"), 0),
        },
    }


def test_checks_on_language_models_are_counted_by_their_answer(tmp_path):
    claims = [Verdict(CLAIMS["1a"], "x", [HOLDS, OPEN, FAILS, HOLDS], []), Verdict(CLAIMS["q"], "x", [], ["no runs"])]
    table(*claims).assign(says="What it says.").to_csv(tmp_path / "alpha_claims.csv", index=False)
    found = {row["id"]: row for row in language_verdicts(tmp_path)}
    assert found["1a"] == {
        "id": "1a",
        "says": "What it says.",
        "verdict": "holds in part",
        "others": {"half": "holds in part", "twice": "holds in part"},
        "fit": "",
        "answers": {"holds": 2, "fails": 1, "undecided": 1},
    }
    assert set(found["q"]["answers"].values()) == {0}


def test_a_table_says_what_holds_at_other_thresholds_where_there_are_some():
    row = {"id": "A", "says": "x", "verdict": "holds", "fit": "3 of 4", "answers": {"holds": 2}}
    rows = [row | {"others": {"half": "undecided", "twice": "holds"}}, row | {"others": {}}]
    text = template("experiments", "readme.md.j2", markup=False).render(block="language", rows=rows)
    assert text.splitlines()[2:] == [
        "| A | x | holds (half: undecided, twice: holds) | 3 of 4 | 2 |",
        "| A | x | holds | 3 of 4 | 2 |",
    ]


def test_without_a_checkout_it_says_so_in_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    with pytest.raises(SystemExit) as ended:
        reference.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path / 'README.md'}: is not there; python -m experiments.reference needs a checkout\n"
    )


def test_tables_go_into_the_readme_and_every_page_that_has_their_block(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference.sys, "argv", ["reference"])
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("before\n<!-- verdicts -->\nstale\n<!-- /verdicts -->\nafter\n")
    (tmp_path / "docs" / "page.md").write_text("<!-- claims -->\n<!-- /claims -->\n<!-- bench -->\n<!-- /bench -->\n")
    (tmp_path / "docs" / "other.md").write_text("nothing of ours\n")
    reference.main()
    readme, page = (tmp_path / "README.md").read_text(), (tmp_path / "docs" / "page.md").read_text()
    assert readme.startswith("before\n<!-- verdicts -->\n| claim |")
    assert readme.endswith("<!-- /verdicts -->\nafter\n")
    assert "stale" not in readme
    assert "| 1a | " in page
    assert "| measure | measured |" in page
    assert (tmp_path / "docs" / "other.md").read_text() == "nothing of ours\n"
