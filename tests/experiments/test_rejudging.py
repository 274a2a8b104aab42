"""The committed verdicts are those that the code of this commit gives on the committed tables."""

import io
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from experiments.committed_verdicts import CLAIMS, RUNS, read_tables, write_tables
from experiments.long_short_alignment.paper import PAPER
from experiments.papers import papers
from experiments.reference import REFERENCE, rejudge_all
from experiments.rejudging import rejudge

claims_of = cache(lambda name: read_tables(REFERENCE / name / CLAIMS))
anew = cache(rejudge_all)


@pytest.mark.slow
@pytest.mark.parametrize("name", papers())
def test_committed_claims(name: str):
    assert set(claims_of(name)) == set(anew()[name])
    for study, found in anew()[name].items():
        written = pd.read_csv(io.StringIO(found.to_csv(index=False))).dropna(axis="columns", how="all")
        if not written.empty:
            pd.testing.assert_frame_equal(written, claims_of(name)[study], check_like=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with the tables of one small study, and those of one that no config names."""
    for file in (CLAIMS, RUNS):
        table = read_tables(REFERENCE / "long_short_alignment" / file)["distance"]
        write_tables(tmp_path / file, {"distance": table, "elsewhere": table})
    return tmp_path


def test_studies_that_cannot_be_judged_are_left_out(copied):
    assert list(rejudge(PAPER, copied)) == ["distance"]
    write_tables(copied / CLAIMS, {"distance": read_tables(copied / CLAIMS)["distance"].assign(diverged=1)})
    assert rejudge(PAPER, copied) == {}


def test_other_tables_give_other_verdicts(copied):
    runs = read_tables(copied / RUNS)["distance"]
    worse = runs.assign(loss_4x=runs["loss_4x"].where(runs["baseline"], runs["loss_4x"] + 1))
    write_tables(copied / RUNS, {"distance": worse})
    (found,) = rejudge(PAPER, copied).values()
    assert set(found["verdict"]) == {"fails"}
    assert (found["median"] > 0.9).all()
