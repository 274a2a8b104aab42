import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from quick import QUICK
from test_records import record

from experiments.claims import CLAIMS
from experiments.report import Picture, deviations, spread, verdict_lines, verdict_table, wanted, write_report
from experiments.verdicts import Check, Verdict
from synthlab.composition import as_overrides

CHECKS = [Check("a <b> & c", np.array([0.5, 1.5, 2.5]), high=1.0), Check("d", np.array([3.0, 3.0, 3.0]), low=2.0)]


class Page(HTMLParser):
    """The tags of a page, the addresses it names, its text."""

    def __init__(self, text: str):
        super().__init__()
        self.addresses, self.text, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for key, value in attributes if key in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_the_report_of_a_command_is_whole_and_needs_nothing_beside_it(invoke, tmp_path):
    arguments = [*as_overrides(QUICK), "test_length=20", "figure=1", "seeds=1", "workers=1", f"results={tmp_path}"]
    outcome = invoke("experiments", *arguments)
    assert outcome.status == 0
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"https?://|@import|url\(", text)
    words = "".join(page.text)
    for claim in ("1a", "1b", "1c", "1c+", "slow", "q"):
        assert f"{claim} (Figure 1, protocol.steps=4 protocol.batch=4 " in outcome.out
        assert CLAIMS[claim].statement in words
    for row in deviations():
        assert row["why"] in words
    for name in ("figure1a.csv", "figure1c_plus.csv"):
        assert f'download="{name}"' in text
    assert "protocol.steps" in words
    assert "figure=1 seeds=1" in words
    table = pd.read_csv(tmp_path / "claims.csv")
    assert set(table["claim"]) == {"1a", "1b", "1c", "1c+", "slow", "q"}


def test_text_is_escaped_and_diverged_runs_are_named(tmp_path):
    (tmp_path / "f.png").write_bytes(b"picture")
    picture = Picture("f", "<script>", ["a & b"], [tmp_path / "f.png"])
    verdict = Verdict(CLAIMS["1a"], "Figure <1>", CHECKS, [])
    lost = record(1, diverged_at=7)
    write_report(tmp_path / "report.html", [picture], [verdict], [record(0), lost], "python -m 'x>y'")
    text = (tmp_path / "report.html").read_text()
    assert "<script>" not in text
    assert "a &lt;b&gt; &amp; c" in text
    assert f"{lost.config.id} (step 7)" in text
    assert Page(text).open == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_report_without_claims_says_so(tmp_path):
    write_report(tmp_path / "report.html", [], [], [record(0)], "x")
    assert "None of the claims is judged on these figures." in (tmp_path / "report.html").read_text()


def test_verdicts_in_lines_and_as_a_table():
    verdict = Verdict(CLAIMS["1a"], "Figure 1", CHECKS, [])
    assert verdict_lines([verdict]) == [
        "1a (Figure 1): holds in part, 1 of 2 checks",
        "    a <b> & c: 1.5 [0.5, 2.5], needed under 1",
    ]
    first, second = verdict_table([verdict]).to_dict("records")
    assert first == {
        "claim": "1a",
        "figure": "Figure 1",
        "verdict": "holds in part",
        "check": "a <b> & c",
        "median": 1.5,
        "least": 0.5,
        "greatest": 2.5,
        "needed": "under 1",
        "holds": False,
        "seeds": 3,
        "agree": 1,
    }
    assert second["holds"]
    missing = Verdict(CLAIMS["1a"], "Figure 1", [], ["no finished run of nope"])
    assert verdict_lines([missing]) == ["1a (Figure 1): not judged, no finished run of nope"]
    assert verdict_table([missing])["check"].tolist() == ["no finished run of nope"]
    assert verdict_table([]).columns.tolist() == verdict_table([verdict]).columns.tolist()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (Check("x", np.array([2.0]), low=1.75, high=2.25), ("2", "1.75 to 2.25")),
        (Check("x", np.array([1e-6, 3e-6]), high=3e-5), ("2e-06 [1e-06, 3e-06]", "under 3e-05")),
        (Check("x", np.array([]), low=35), ("nan", "at least 35")),
    ],
)
def test_numbers_in_words(check, words):
    assert (spread(check), wanted(check)) == words


def test_deviations_are_whole():
    for row in deviations():
        assert set(row) == {"what", "paper", "here", "why"}
        assert all(isinstance(value, str) and value and "TODO" not in value for value in row.values())
