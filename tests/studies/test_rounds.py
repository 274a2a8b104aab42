"""``seeds=auto``: which series get more seeds, and the rounds of a whole command."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.paper import PAPER
from support.records import record
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.overrides import Overrides
from synthlab.studies.rounds import find_undecided, plan_round
from synthlab.studies.study import Plan
from synthlab.studies.verdicts import Claims

CLAIMS, BLANK = Claims[Evidence](), record()
OVERRIDES = Overrides()
IN_WORDS = {"where": "here", "statement": "Made up.", "quantity": "none", "why": "for tests"}
# A panel in which NoPE's check is decided by five seeds and RoPE's by ten, and one that has RoPE's runs, too.
OWN = {
    "title": "own",
    "seeds": "auto",
    "panels": {
        "a": {"title": "a", "vary": {"encoding": ["nope", "rope"]}, "claims": ["early", "late"]},
        "b": {"title": "b", "vary": {"encoding": ["alibi", "rope"]}},
    },
}


def check(evidence: Evidence, name: str, *wrong: int) -> Check:
    """A check on one series that is fulfilled under every seed but those."""
    values = np.array([seed not in wrong for seed in evidence.errors(name).index], dtype=float)
    return Check(name, values, low=0.4, series=(name,))


RIGHT, WRONG = ("nope",), ("nope", *range(1000))
for name, checks in {
    "early": [RIGHT],
    "late": [RIGHT, ("rope", 3)],
    "split": [WRONG, ("rope",)],
    "against": [WRONG, WRONG],
    "never": [("alibi", *range(0, 1000, 2))],
}.items():
    CLAIMS.claim(name, **IN_WORDS)(lambda evidence, checks=checks: [check(evidence, *each) for each in checks])


@CLAIMS.claim("unanswered", **IN_WORDS)
def _(evidence: Evidence) -> list[Check]:
    return [check(evidence, "nope", 3)._replace(untested="none of the runs fits")]


@CLAIMS.claim("ratio", **IN_WORDS)
def _(evidence: Evidence) -> list[Check]:
    values = np.resize([0.0, 1.0], min(len(evidence.errors(name)) for name in evidence.names))
    return [Check("alternates", values, low=1.0)]


MINE = replace(PAPER, claims=CLAIMS)


def planned(*claims: str, of: str = "a", **changes: object) -> Plan:
    """The made-up figure, whose panel ``of`` has these claims."""
    panels = {key: panel | {"claims": list(claims) if key == of else []} for key, panel in OWN["panels"].items()}
    [study] = MINE.studies({"own": OWN | {"panels": panels} | changes}).values()
    return study.plan("own", OVERRIDES)


def records(of: Plan) -> dict[str, Record]:
    return {config.id: replace(BLANK, config=config) for config in of.configs}


def seeds(of: Plan) -> dict[str, int]:
    return {f"{key} {cell.label}": cell.seeds for key, cells in of.cells.items() for cell in cells}


def rounds(begun: Plan) -> list[dict[str, int]]:
    found, current = [seeds(begun)], [begun]
    while further := plan_round(current, find_undecided(current, records(current[0]), CLAIMS)):
        current, _ = further
        found.append(seeds(current[0]))
    return found


FIVE = {"a nope": 5, "a rope": 5, "b alibi": 5, "b rope": 5}


def test_series_of_undecided_checks_get_more_seeds():
    assert rounds(planned()) == [FIVE]
    assert rounds(planned("early")) == [FIVE]
    assert rounds(planned("early", "late")) == [FIVE, FIVE | {"a rope": 10, "b rope": 10}]
    assert rounds(planned("never", of="b")) == [FIVE | {"b alibi": seeds} for seeds in (5, 10, 15, 20)]


def test_series_with_the_fewest_seeds_get_more():
    assert rounds(planned("ratio"))[-1] == {"a nope": 20, "a rope": 20, "b alibi": 5, "b rope": 20}
    ahead = planned("ratio")
    ahead = ahead.extend({cell.identity: 10 for cell in ahead.cells["a"] if cell.label == "rope"})
    found = [round["a nope"] for round in rounds(ahead)], [round["a rope"] for round in rounds(ahead)]
    assert found == ([5, 10, 15, 20], [10, 10, 15, 20])


def test_failing_checks_get_more_seeds():
    # five of five in one check of two do not refute the claim, ten of ten do; the check itself is decided
    assert rounds(planned("split")) == [FIVE, FIVE | {"a nope": 10}]
    assert rounds(planned("against")) == [FIVE]  # all of its checks fail


def test_few_runs_are_not_decided():
    begun = planned("early")
    kept = records(begun)
    lost = begun.cells["a"][0].configs[0].id
    kept[lost] = replace(kept[lost], diverged_at=3)
    [found] = find_undecided([begun], kept, CLAIMS)
    assert (found.claim, [cell.label for cell in found.series]) == ("early", ["nope"])


def written(folder) -> dict[str, bytes]:
    """The figures, tables and report; the report's own command apart."""
    files = {path.name: path.read_bytes() for path in (folder / "output_alignment" / "figures").iterdir()}
    return files | {"claims.csv": (folder / "output_alignment" / "claims.csv").read_bytes()}


@pytest.fixture
def command(invoke, quick, tmp_path, monkeypatch):
    """Call ``synthlab study`` on the made-up figure and claims."""
    monkeypatch.setattr("experiments.output_alignment.paper.PAPER", MINE)
    # Whether ensembles are exact is tested elsewhere, and takes longer than training these.
    monkeypatch.setattr("synthlab.sweeps.workers.split_inexact", lambda configs, _: [configs])
    panels = {"a": OWN["panels"]["a"] | {"claims": ["early", "late"]}}  # each is drawn, which takes time
    own = tmp_path / "conf" / "study" / "output_alignment"
    own.mkdir(parents=True)
    (own / "own.yaml").write_text(json.dumps({"own": OWN | {"panels": panels}}))

    def call(*arguments: str):
        return invoke("experiments", "--config-dir", str(tmp_path / "conf"), *quick, "output_alignment/own", *arguments)

    return call


@pytest.mark.slow
def test_a_command_trains_round_after_round(command, tmp_path, monkeypatch):
    first = command()
    assert first.status == 0, first.err
    told = [line for line in first.err.splitlines() if line.startswith("seeds=auto: ")]
    assert len(told) == 2
    assert len(Store(tmp_path).ids()) == 15
    drawn = pd.read_csv(tmp_path / "output_alignment" / "figures" / "owna.csv")
    assert {name: set(rows["seeds"]) for name, rows in drawn.groupby("series")} == {"nope": {5}, "rope": {10}}
    assert pd.read_csv(tmp_path / "output_alignment" / "claims.csv")["seeds"].tolist() == [5, 5, 10]

    before = written(tmp_path)
    monkeypatch.setattr("synthlab.sweeps.sweep.train_and_record", lambda *_, **__: pytest.fail("it was trained"))
    again = command()
    assert (again.status, again.out, written(tmp_path)) == (0, first.out, before)
    assert again.err.count("runs to train: 0") == 2
    redrawn = command("replot=true")
    assert (redrawn.status, redrawn.out, redrawn.err, written(tmp_path)) == (0, first.out, "", before)
    kept = [record for record in Store(tmp_path).read_all() if record.config.seed != 7]
    shutil.rmtree(tmp_path / "runs")
    Store(tmp_path).write(*kept)
    refused = command("replot=true")
    assert refused.status == 2
    assert refused.err.startswith("error: replot=true: 1 of 5 runs are not recorded below")
