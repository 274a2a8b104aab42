"""The committed verdicts are those that the code of this commit gives on the committed tables."""

import io
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from experiments.long_short_alignment.paper import PAPER
from experiments.papers import papers
from experiments.reference import REFERENCE, judged_anew
from experiments.rejudging import rejudged

# Those of which no run diverged, and whose tables have all that their claims are judged on.
JUDGED = [path for name in papers() for path in sorted((REFERENCE / name).glob("*_claims.csv"))]
anew = cache(judged_anew)


@pytest.mark.slow
@pytest.mark.parametrize("path", JUDGED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_committed_claims_are_those_that_the_committed_tables_give(path: Path):
    written = io.StringIO(anew()[path].to_csv(index=False))
    pd.testing.assert_frame_equal(pd.read_csv(written), pd.read_csv(path))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with the tables of one small study, and those of one that no config names."""
    for table in ("claims", "runs"):
        content = (REFERENCE / "long_short_alignment" / f"within_{table}.csv").read_bytes()
        for study in ("within", "elsewhere"):
            (tmp_path / f"{study}_{table}.csv").write_bytes(content)
    return tmp_path


def test_studies_without_a_config_or_with_a_lost_run_are_left_out(copied):
    claims = copied / "within_claims.csv"
    assert list(rejudged(PAPER, copied)) == [claims]
    pd.read_csv(claims).assign(diverged=1).to_csv(claims, index=False)
    assert rejudged(PAPER, copied) == {}


def test_other_tables_give_other_verdicts(copied):
    runs = pd.read_csv(copied / "within_runs.csv")
    worse = runs.assign(loss_1x=runs["loss_1x"].where(runs["baseline"], runs["loss_1x"] + 1))
    worse.to_csv(copied / "within_runs.csv", index=False)
    (found,) = rejudged(PAPER, copied).values()
    assert set(found["verdict"]) == {"does not hold"}
    assert (found["median"] > 0.9).all()
