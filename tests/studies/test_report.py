import re
from html import unescape

import numpy as np
import pytest

from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.paper import ABOUT
from support.configs import QUICK
from support.records import record
from synthlab.runs.composition import to_overrides
from synthlab.studies.checks import Check
from synthlab.studies.report import Picture, deviations, verdict_lines, verdict_table, write_report
from synthlab.studies.verdicts import Fit, Verdict

CHECKS = [
    Check("a <b> & c", np.array([1.5, 0.5, 2.5] * 4), high=0.5),
    Check("d", np.array([3.0] * 12), low=2.0),
    Check("e", np.array([1.0, 3.0, 2.5, 4.0, 4.0]), low=2.0),
]
FEW = [Check("f <g>", np.array([1.5, 0.5, np.nan, 2.5]), high=0.5), Check("h", np.array([2.0]), low=1.0)]


@pytest.mark.slow
def test_report_is_whole(invoke, tmp_path):
    arguments = [*to_overrides(QUICK), "test_length=20", "seeds=1", "workers=1", f"results={tmp_path}"]
    outcome = invoke("experiments", "output_alignment/figure1", *arguments)
    assert outcome.status == 0
    text = (tmp_path / "output_alignment" / "report.html").read_text()
    assert all(address.startswith(("data:", "#")) for address in re.findall(r'(?:src|href)="([^"]*)', text))
    assert not re.search(r"https?://|@import|url\(", text)
    words = unescape(re.sub(r"<[^>]*>", "", text))
    for claim in ("1a", "1b", "1c", "1c_best", "1c_reciprocal"):
        assert f"output_alignment.{claim} (Figure 1, protocol.steps=4 protocol.batch=4 " in outcome.out
        assert CLAIMS[claim].statement in words
    for row in deviations(ABOUT.deviations):
        assert row["why"] in words
    assert 'download="figure1a.csv"' in text
    assert "output_alignment/figure1 protocol.steps=4" in words


def test_text_is_escaped(tmp_path):
    (tmp_path / "f.png").write_bytes(b"picture")
    picture = Picture("f", "<script>", ["a & b"], [tmp_path / "f.png"])
    verdict = Verdict(CLAIMS["1a"], "Figure <1>", CHECKS, [])
    lost = record(1, diverged_at=7)
    write_report(tmp_path / "report.html", [picture], [verdict], [record(0), lost], "python -m 'x>y'", ABOUT)
    text = (tmp_path / "report.html").read_text()
    assert "<script>" not in text
    assert "a &lt;b&gt; &amp; c" in text
    assert f"{lost.config.id} (step 7)" in text


def test_verdicts_in_lines_and_as_a_table():
    verdict = Verdict(CLAIMS["1a"], "Figure 1", CHECKS, [], Fit(9, 1, 6, ""))
    assert verdict_lines([verdict]) == [
        "1a (Figure 1): fails in part: 1 of 3 holds, 1 fails, 1 undecided "
        "(6 of 9 runs fit, 1 diverged, over those: no word)",
        "    fails: a <b> & c: 1.5 [0.5, 2.5], needed under 0.5",
        "    undecided: e: 3 [1, 4], needed at least 2",
    ]
    first, second, third = verdict_table([verdict]).to_dict("records")
    told_of = ("check", "median", "needed", "answer", "verdict", "runs", "fit", "verdict_fit")
    assert [first[name] for name in told_of] == ["a <b> & c", 1.5, "under 0.5", "fails", "fails in part", 9, 6, ""]
    assert (second["answer"], third["answer"], third["coverage"]) == ("holds", "undecided", 0.9375)
    few = Verdict(CLAIMS["1a"], "Figure 1", FEW, [])
    [row, _] = verdict_table([few]).to_dict("records")
    assert [row[name] for name in ("verdict", "answer", "seeds", "missing", "agree")] == ["", "", 3, 1, 0]
    assert verdict_lines([few])[:2] == [
        "1a (Figure 1): 1 seed, no word",
        "    3 seeds, no word: f <g>: 1.5 [0.5, 2.5] (1 value missing), needed under 0.5",
    ]
    missing = Verdict(CLAIMS["1a"], "Figure 1", [], ["no finished run of nope"])
    assert verdict_lines([missing]) == ["1a (Figure 1): not tested, no finished run of nope"]
    assert verdict_table([]).columns.tolist() == verdict_table([verdict]).columns.tolist()
