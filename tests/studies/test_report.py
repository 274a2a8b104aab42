import re

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.paper import ABOUT
from support.configs import QUICK
from support.pages import Page
from support.records import record
from synthlab.config.composition import to_overrides
from synthlab.studies.checks import Check, Witnesses
from synthlab.studies.intervals import ConfidenceInterval, GroupEstimate
from synthlab.studies.presentation.figure_files import Point
from synthlab.studies.presentation.report import (
    Picture,
    describe_variants,
    deviations,
    format_median,
    format_word,
    verdict_lines,
    verdict_table,
    write_report,
)
from synthlab.studies.verdicts import Fit, Verdict

CHECKS = [
    Check("a <b> & c", np.array([1.5, 0.5, 2.5] * 4), high=0.5),
    Check("d", np.array([3.0] * 12), low=2.0),
    Check("e", np.array([1.0, 3.0, 2.5, 4.0, 4.0]), low=2.0),
]
FEW = [Check("f <g>", np.array([1.5, 0.5, np.nan, 2.5]), high=0.5), Check("h", np.array([2.0]), low=1.0)]


@pytest.mark.slow
def test_the_report_of_a_command_is_whole_and_needs_nothing_beside_it(invoke, tmp_path):
    arguments = [*to_overrides(QUICK), "test_length=20", "seeds=1", "workers=1", f"results={tmp_path}"]
    outcome = invoke("experiments", "output_alignment/1", *arguments)
    assert outcome.status == 0
    text = (tmp_path / "output_alignment" / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"https?://|@import|url\(", text)
    words = "".join(page.text)
    for claim in ("1a", "1b", "1c", "1c+", "1c_reciprocal", "slow", "q"):
        assert f"output_alignment.{claim} (Figure 1, protocol.steps=4 protocol.batch=4 " in outcome.out
        assert CLAIMS[claim].statement in words
    for row in deviations(ABOUT.deviations):
        assert row["why"] in words
    for name in ("figure1a.csv", "figure1c_plus.csv"):
        assert f'download="{name}"' in text
    assert "protocol.steps" in words
    assert "synthlab study " in words
    assert "output_alignment/1 protocol.steps=4" in words
    table = pd.read_csv(tmp_path / "output_alignment" / "claims.csv")
    assert set(table["claim"]) == {
        f"output_alignment.{id}" for id in ("1a", "1b", "1c", "1c+", "1c_reciprocal", "slow", "q")
    }


def test_text_is_escaped_and_diverged_runs_are_named(tmp_path):
    (tmp_path / "f.png").write_bytes(b"picture")
    picture = Picture("f", "<script>", ["a & b"], [tmp_path / "f.png"], points=[Point(0.5, 0.25, "x<y: 1, 2")])
    verdict = Verdict(CLAIMS["1a"], "Figure <1>", CHECKS, [])
    lost = record(1, diverged_at=7)
    write_report(tmp_path / "report.html", [picture], [verdict], [record(0), lost], "python -m 'x>y'", ABOUT)
    text = (tmp_path / "report.html").read_text()
    assert "<script>" not in text
    assert "a &lt;b&gt; &amp; c" in text
    assert 'cx="50.00" cy="25.00" rx=".6" ry=".6"><title>x&lt;y: 1, 2</title>' in text
    assert f"{lost.config.id} (step 7)" in text
    assert Page(text).open == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_page_says_how_far_the_seeds_decide(tmp_path):
    unfit = [CHECKS[0]._replace(untested="none of the runs fits")]
    verdicts = [Verdict(CLAIMS["1a"], "Figure 1", checks, []) for checks in (CHECKS, CHECKS[1:], FEW, FEW[1:], unfit)]
    write_report(tmp_path / "report.html", [], verdicts, [record(0)], "x", ABOUT)
    words = Page((tmp_path / "report.html").read_text()).words
    assert "◐ mixed (1 of 3 checks holds, 1 fails, 1 undecided)" in words
    assert "~ undecided at 5 seeds" in words
    assert "1a: ? 1 seed: no verdict (0 of 2 checks hold, 2 without a verdict)" in words
    assert "1a: ? 1 seed: no verdict" in words
    assert "1a: ? not tested" in words
    # of each check: the answer, the median with its interval, the coverage, what is needed, the seeds that agree
    assert "✗ fails a <b> & c 1.5 [0.5, 2.5] 93 % under 0.5 0 of 12" in words
    assert "~ undecided e 3 [1, 4] 94 % at least 2 4 of 5" in words
    assert "? 3 seeds: no verdict f <g> (1 value missing) 1.5 [0.5, 2.5] 75 % under 0.5 0 of 3 none" in words
    assert "? 1 seed: no verdict h 2 0 % at least 1 1 of 1 none" in words
    assert "? not tested a <b> & c (none of the runs fits) 1.5 [0.5, 2.5] 93 % under 0.5 0 of 12" in words


def test_verdicts_in_lines_and_as_a_table():
    verdict = Verdict(CLAIMS["1a"], "Figure 1", CHECKS, [], Fit(9, 1, 6, "undecided", Witnesses(3)))
    assert verdict_lines([verdict]) == [
        "1a (Figure 1): mixed, 1 of 3 checks holds, 1 fails, 1 undecided "
        "(at half the thresholds: mixed, at twice: does not hold; "
        "6 of 9 runs fit, 1 diverged, over those: undecided at 3 seeds)",
        "    fails: a <b> & c: 1.5 [0.5, 2.5], needed under 0.5",
        "    undecided: e: 3 [1, 4], needed at least 2",
    ]
    first, second, third = verdict_table([verdict]).to_dict("records")
    told_of = ("check", "median", "needed", "answer", "verdict_half", "answer_twice", "runs", "fit", "verdict_fit")
    wanted_of = ["a <b> & c", 1.5, "under 0.5", "fails", "mixed", "undecided", 9, 6, "undecided"]
    assert [first[name] for name in told_of] == wanted_of  # the other columns are those of the committed claims
    assert (second["answer"], third["answer"], third["coverage"]) == ("holds", "undecided", 0.9375)
    assert verdict_lines([Verdict(CLAIMS["1a"], "Figure 1", FEW, [])]) == [
        "1a (Figure 1): 1 seed: no verdict, 0 of 2 checks hold, 2 without a verdict",
        "    no verdict from 3 seeds: f <g>: 1.5 [0.5, 2.5] (1 value missing), needed under 0.5",
        "    no verdict from 1 seed: h: 2, needed at least 1",
    ]
    [row, _] = verdict_table([Verdict(CLAIMS["1a"], "Figure 1", FEW, [])]).to_dict("records")
    assert [row[name] for name in ("verdict", "answer", "seeds", "missing", "agree")] == ["few seeds"] * 2 + [3, 1, 0]
    missing = Verdict(CLAIMS["1a"], "Figure 1", [], ["no finished run of nope"])
    assert verdict_lines([missing]) == ["1a (Figure 1): not tested, no finished run of nope"]
    assert verdict_table([missing])["check"].tolist() == ["no finished run of nope"]
    assert verdict_table([]).columns.tolist() == verdict_table([verdict]).columns.tolist()


def test_a_table_has_the_interval_that_decides_beside_the_least_and_the_greatest():
    # of ten seeds from the second least to the second greatest; 37 of 1,024 sequences have crossed on one side
    check = Check("x", np.array([11.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), high=10.0)
    [row] = verdict_table([Verdict(CLAIMS["1a"], "Figure 1", [check], [])]).to_dict("records")
    assert [row[key] for key in ("least", "low", "high", "greatest", "coverage")] == [1, 2, 9, 11, 1 - 2 * 37 / 1024]
    assert (row["answer"], row["agree"], format_median(check)) == ("holds", 9, "5.5 [2, 9]")


def test_what_rests_on_an_estimate_tells_of_its_own_witnesses():
    check = Check(
        "x", np.array([0.3]), low=0.0, estimate=GroupEstimate(ConfidenceInterval(-0.1, 0.7, 0.95), 7, "encodings")
    )
    verdict = Verdict(CLAIMS["1a"], "Figure 1", [check, Check("y", np.array([0.3] * 5), low=0.0)], [])
    assert (check.answer, verdict.word, format_median(check)) == ("undecided", "undecided", "0.3 [-0.1, 0.7]")
    assert format_word(verdict.word, verdict.witnesses) == "undecided at 7 encodings"
    assert not check.is_enough_for_auto
    few = check._replace(estimate=check.estimate._replace(number=3))
    assert (few.answer, format_word(few.answer, few.witnesses)) == ("few seeds", "3 encodings: no verdict")
    [row, other] = verdict_table([verdict]).to_dict("records")
    assert (row["number"], row["of"], row["coverage"]) == (7, "encodings", 0.95)
    assert (other["number"], other["of"], other["seeds"]) == (5, "seeds", 5)


def test_deviations_are_whole():
    for row in deviations(ABOUT.deviations):
        assert set(row) == {"what", "paper", "here", "why"}
        assert all(isinstance(value, str) and value and "TODO" not in value for value in row.values())


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (Fit(4, 0, 4, "holds", Witnesses(4)), "all 4 runs fit"),
        (Fit(4, 0, 1, "few seeds", Witnesses(1)), "1 of 4 runs fit, over those: 1 seed: no verdict"),
        (Fit(4, 4, 0, "not tested", Witnesses(0)), "0 of 4 runs fit, 4 diverged, over those: not tested"),
    ],
)
def test_a_verdict_says_how_many_runs_fit(fit, words):
    gain = Verdict(CLAIMS["1a"], "Figure 1", [Check("gain", np.array([1.0] * 5), low=0.0)], [], fit)
    assert describe_variants(gain) == f"no other threshold; {words}"


def test_what_is_not_tested_is_told_with_its_reason():
    untested = CHECKS[0]._replace(untested="none of the runs fits")
    verdict = Verdict(CLAIMS["1a"], "Figure 1", [untested, CHECKS[1]], [])
    assert verdict_lines([verdict]) == [
        "1a (Figure 1): undecided, 1 of 2 checks holds, 1 not tested "
        "(at half the thresholds: undecided, at twice: does not hold)",
        "    not tested: a <b> & c: none of the runs fits",
    ]
    first, second = verdict_table([verdict]).to_dict("records")
    assert (first["answer"], first["answer_twice"], first["median"]) == ("not tested", "not tested", 1.5)
    assert (first["why_untested"], second["why_untested"]) == ("none of the runs fits", "")
