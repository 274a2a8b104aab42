"""The first paper's checks follow from its committed runs: by plain pandas, and by the studies that reread them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.committed_verdicts import CLAIMS, RUNS, read_tables
from experiments.output_alignment.figures import tabulate_runs
from experiments.output_alignment.paper import PAPER
from experiments.reference import REFERENCE
from support.figures import studies
from support.records import record
from synthlab.studies.overrides import Overrides

FOLDER = REFERENCE / "output_alignment"


@pytest.fixture(scope="module")
def runs() -> dict[str, pd.DataFrame]:
    return read_tables(FOLDER / RUNS)


def committed(claim: str, check: str) -> pd.Series:
    checks = pd.read_csv(FOLDER / CLAIMS)
    [row] = checks[(checks["claim"] == f"output_alignment.{claim}") & (checks["check"] == check)].to_dict("records")
    return pd.Series(row)


def errors(rows: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """A row for each seed, a column for each length."""
    return rows.set_index("seed")[[f"mse@{length}" for length in range(first, last + 1)]].sort_index()


def test_claim_5_from_five_runs(runs):
    lengths = np.arange(1, 51)
    nope = runs["figure5"][runs["figure5"]["encoding"] == "nope"]
    largest = errors(nope, 1, 50).div((lengths + 2) / (12 * lengths), axis="columns").max(axis="columns")
    row = committed("5", "NoPE: error / best constant's, largest")
    assert len(largest) == row["number"] == 5
    assert [row["median"], row["low"], row["high"]] == pytest.approx([largest.median(), largest.min(), largest.max()])
    assert (row["answer"], row["needed"]) == ("holds", "under 0.01")


def test_claim_log_from_forty_pairs_of_runs(runs):
    counting = runs["counting"]
    counting = counting[counting["encoding.q"].isin([0.125, 0.5]) & (counting["test_length"] == 100)]
    plain = counting[
        (counting["model.depth"] == 1) & (counting["model.width"] == 32) & (counting["train_length"] == 10)
    ]
    logs = plain[(plain["encoding.q"] == 0.125) & (plain["outrep"] == "log")]
    pairs = plain[(plain["encoding.q"] == 0.5) & (plain["outrep"] == "power") & (plain["outrep.p"] == -0.35)]
    ratios = np.exp(np.log(errors(logs, 11, 100) / errors(pairs, 11, 100)).to_numpy().mean(1))
    row = committed("log", "error / the pair's")
    assert (len(ratios), (ratios < 1).sum()) == (row["number"], row["agree"]) == (40, 0)
    assert row["median"] == pytest.approx(np.median(ratios))
    assert row["answer"] == "fails"


def test_claim_head_from_ten_runs(runs):
    inside = runs["mechanism"]
    rows = inside[(inside["task"] == "length") & (inside["encoding"] == "nope") & (inside["outrep"] == "rlog")]
    row = committed("head", "NoPE, task = length outrep = rlog: lost without the main head")
    assert len(rows) == row["number"] == 10
    lost = rows["lost"]
    assert [row["median"], row["least"], row["greatest"]] == pytest.approx([lost.median(), lost.min(), lost.max()])
    assert (row["answer"], row["needed"]) == ("fails", "at least 0.5")


def test_a_table_of_runs_gives_the_evidence_of_the_records():
    study = studies(PAPER, "figure1")["figure1"]
    plan = study.plan("figure1", Overrides(), 2, first_seed=3)
    made = enumerate({config.id: config for config in plan.configs}.values())
    records = {config.id: replace(record(scale=3.0 + place, test_length=50), config=config) for place, config in made}
    exact, read = study.evidence(plan, records), study.reread(tabulate_runs(records.values()))
    assert read is not None
    for key in study.grids:
        for name in exact[key].names:
            pd.testing.assert_frame_equal(read[key].errors(name), exact[key].errors(name), rtol=1e-3)
            assert read[key].horizons(name, 35).tolist() == exact[key].horizons(name, 35).tolist()
    assert len({tuple(read["b"].horizons(name, 35)) for name in read["b"].names}) > 1
