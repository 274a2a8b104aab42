"""The page on deciding: its two files and the command that it gives, on runs that take no time."""

import re
import runpy
import sys

import pandas as pd
import pytest

from experiments.reference import ROOT
from support.configs import QUICK
from synthlab.runs.composition import to_overrides

PAGE = (ROOT / "docs" / "deciding.md").read_text()


def block(language: str, beginning: str) -> str:
    """The page's block that begins so."""
    return next(found for found in re.findall(rf"```{language}\n(.*?)```", PAGE, re.S) if found.startswith(beginning))


@pytest.mark.slow
def test_the_claim_of_the_page(tmp_path, monkeypatch):
    folder = tmp_path / "my-folder" / "study" / "mine"
    folder.mkdir(parents=True)
    (folder / "default.yaml").write_text(block("yaml", "mine:"))
    (tmp_path / "decide.py").write_text(block("python", "# decide.py"))
    (tmp_path / "deviations.yaml").write_text("[]")
    monkeypatch.chdir(tmp_path)
    command = next(line for line in block("sh", "python decide.py").splitlines() if "first_seed" not in line)
    quick = [*to_overrides(QUICK | {"test_length": 20}), "workers=1"]
    monkeypatch.setattr(sys, "argv", [*command.split()[1:], *quick])
    with pytest.raises(SystemExit) as left:
        runpy.run_path("decide.py", run_name="__main__")
    assert not left.value.code
    [check] = pd.read_csv("results/mine/claims.csv").to_dict("records")
    assert (check["claim"], check["seeds"] in (5, 10, 15, 20)) == ("mine.log", True)
    assert "length task, NoPE" in (tmp_path / "results" / "mine" / "report.html").read_text()
