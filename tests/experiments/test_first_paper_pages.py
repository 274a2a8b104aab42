"""Numbers of the first paper that its pages state in words are those of the committed tables."""

from functools import cache

import numpy as np
import pandas as pd

from experiments.committed_verdicts import TABLES, read_tables
from experiments.reference import REFERENCE, ROOT
from support.pages import says


@cache
def tables() -> dict[str, pd.DataFrame]:
    return read_tables(REFERENCE / "output_alignment" / TABLES)


def curve(table: str, series: str, column: str = "median") -> pd.Series:
    rows = tables()[table]
    return rows[rows["series"] == series].set_index("length")[column]


def find_horizon(errors: pd.Series, tolerance: float) -> int:
    """The length up to which the root of the median error stays within the tolerance, on the length task."""
    beyond = errors.index[np.sqrt(errors) / errors.index >= tolerance]
    return int(beyond.min()) - 1


def test_each_effect_of_the_paper_s_claims_is_the_committed_one():
    rows = pd.read_csv(REFERENCE / "tables" / "output_alignment.csv")
    committed = rows.set_index(rows["claim"].str.partition(".")[0])
    lines = (ROOT / "docs/results.md").read_text().partition("| claim | effect | verdict |")[2].partition("\n\n")[0]
    for claim, effect, verdict in (line.strip("| ").split(" | ") for line in lines.splitlines()[2:]):
        found = committed.loc[claim.partition(":")[0]]
        assert effect in found["measured"]
        assert verdict == found["verdict"]


def test_nope_keeps_a_lower_error_of_the_mean_than_alibi_but_not_a_flatter_one():
    nope, alibi = curve("figure1a", "nope"), curve("figure1a", "alibi")
    rises = [each[50] / each[10] for each in (nope, alibi)]
    says("docs/results.md", *(f"{each:.0f} times" for each in rises))
    assert rises[0] > rises[1]
    lower = f"{alibi[50] / nope[50]:.0f} times"
    for page in ("README.md", "docs/results.md"):
        says(page, lower)
    assert min(curve("figure1a", name)[50] for name in ("rope", "learned")) > alibi[50]


def test_the_horizon_of_one_over_sqrt_is_given_at_two_tolerances():
    errors = curve("figure1c_plus", "rsqrt")
    strict, mild, loose = (find_horizon(errors, tolerance) for tolerance in (0.05, 0.1, 0.2))
    [drawn] = tables()["horizonlength"].query("encoding == 'nope' and outrep == 'rsqrt'").to_dict("records")
    assert strict == drawn["median"]
    seeds = f"{drawn['low']} to {drawn['high']}"
    for page in ("README.md", "docs/results.md", "docs/findings.md"):
        says(page, f"length {strict}", seeds)
        says(page, "20 %", str(loose))
    says("docs/results.md", "10 %", f"length {mild}")
