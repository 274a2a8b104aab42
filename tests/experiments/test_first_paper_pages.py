"""Numbers of the first paper that its pages state in words are those of the committed tables."""

from functools import cache

import numpy as np
import pandas as pd

from experiments.committed_verdicts import TABLES, read_tables
from experiments.output_alignment.page_tables import tabulate_changes, tabulate_powers
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


def test_tables_are_in_the_units_of_readers():
    def check(claim: str, what: str, *values: float) -> dict:
        return {"claim": f"output_alignment.{claim}", "check": what} | dict(
            zip(("median", "low", "high"), values, strict=True)
        )

    change = "mean, plain, ALiBi, protocol.optimizer = adamw protocol.weight_decay = "
    checks = [check("decay", f"{change}{each}: doublings of the error", 1, -1, 2) for each in (0.01, 0.1, 1.0)]
    checks += [check("curriculum", "mean, plain, ALiBi, curriculum.start = 2: doublings of the error", 0, -2, 3)]
    checks += [check("power", f"NoPE, both, q = {q}: log2 of best power / -q", -1, -2, 0) for q in ("0.5", "2")]
    twice = "2 [0.5, 4]"
    assert tabulate_changes(pd.DataFrame(checks)) == [
        {"task, map, encoding": "mean, plain, ALiBi"}
        | dict.fromkeys(("decay 0.01", "decay 0.1", "decay 1"), twice)
        | {"curriculum": "1 [0.25, 8]"}
    ]
    powers = {"q = 0.5": "-0.25 [-0.50, -0.12]", "q = 1": "as BOS", "q = 2": "-1.00 [-2.00, -0.50]"}
    assert tabulate_powers(pd.DataFrame(checks)) == [{"model, weight changed": "NoPE, both", **powers}]
