"""Yang et al.: the claims by hand, over languages, and the study's languages."""

from functools import partial

import pandas as pd
import pytest
import yaml

from experiments.decidable.claims import CLAIMS, NAMES, score_languages
from experiments.decidable.message import NUMBERS
from experiments.decidable.paper import PAPER, compare
from support.claims import answers_on
from support.figures import studies
from synthlab.sequences.automata import classify, compile_expression
from synthlab.studies.evidence import NoEvidence

RIGHT, WRONG = [1.0, 0.99, 0.95, 1.0, 0.97, 1.0], [0.0, 0.0, 0.4, 0.2, 0.0, 0.7]


TINY = """
tiny:
  title: "tiny: two languages of each kind"
  seeds: 1
  languages: 2
  seconds: 1
  fixed: {encoding: nope, train_length: 8, test_length: 80, evaluation.sequences: 1, model.width: 16, model.depth: 1,
    model.heads: 1, protocol.batch: 4, protocol.steps: 2}
  claims: [inside, outside, ten_times]
"""


def rows(scores: dict[str, dict[int, list[float]]], unfit: int = 0) -> pd.DataFrame:
    """Runs trained to 20, of each kind and by the last length of a range, the exact match of each language's only run;
    the first of them do not fit."""
    return pd.DataFrame(
        {"kind": kind, "number": number, "run": f"{kind}{number}", "exact": exact, "fit": number >= unfit}
        | {"first": last - 19, "last": last, "train_length": 20}
        for kind, ranges in scores.items()
        for last, values in ranges.items()
        for number, exact in enumerate(values)
    )


answers = partial(answers_on, CLAIMS)


AS_EXPECTED = {
    "r_trivial": {60: RIGHT},
    "c_rasp": {60: RIGHT, 200: WRONG},
    "r_group": {60: WRONG},
    "other": {60: WRONG},
}


def test_claims_by_hand():
    runs = rows(AS_EXPECTED)
    assert [answers(claim, runs) for claim in CLAIMS] == [["holds"] * 2, ["holds"] * 2, ["fails"]]
    turned = rows(AS_EXPECTED | {"c_rasp": {60: WRONG, 200: RIGHT}, "other": {60: RIGHT}})
    assert [answers(claim, turned) for claim in CLAIMS] == [["holds", "fails"], ["holds", "fails"], ["holds"]]
    split = rows(AS_EXPECTED | {"c_rasp": {60: [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}})
    assert answers("inside", split) == ["holds", "undecided"]


def test_a_language_counts_once_by_its_runs_that_fit():
    runs = rows({"c_rasp": {60: [0.5, 0.9]}})
    more = runs.assign(run=runs["run"] + "again", exact=[0.7, 0.1], fit=[True, False])
    assert score_languages(pd.concat([runs, more]), "c_rasp", 3).tolist() == pytest.approx([0.6, 0.9])
    with pytest.raises(NoEvidence):
        score_languages(runs, "c_rasp", 10)


def test_languages_that_are_not_learned_test_nothing():
    assert answers("outside", rows(AS_EXPECTED, unfit=3)) == [""] * 2  # three languages have no word
    assert answers("outside", rows(AS_EXPECTED, unfit=4)) == ["not tested"] * 2


def test_ours_stand_beside_the_published_numbers():
    row = compare(rows({"c_rasp": {60: [0.5, 0.9, 1.0], 200: [0.0, 0.1, 0.2]}}, unfit=1))[1]
    assert (row["times"], row["published, best"], row["published, all"]) == ("9 to 10", "0.938", "0.212")
    assert (row["ours"], row["range"], row["fit"]) == ("0.150", "0.100 to 0.200", "2 of 3")
    assert sum(kind.languages for kind in NUMBERS.kinds.values()) == 125


def test_the_languages_of_the_study_are_of_their_kind():
    for study in studies(PAPER, "default").values():
        for kind, grid in study.grids.items():
            assert grid.fixed["task.kind"] == kind
            assert grid.vary == [{"task.number": [*range(study.languages)]}]
    assert [*NAMES] == [
        *dict.fromkeys(classify(compile_expression(each)[1]) for each in ("a*b", "(ab)*", "(aa)*", "(a|b)*b"))
    ]


@pytest.mark.slow
def test_the_command_writes_runs_of_each_language(invoke, tmp_path):
    (tmp_path / "own/study/decidable").mkdir(parents=True)
    (tmp_path / "own/study/decidable/tiny.yaml").write_text(TINY)
    words = ["--config-dir", str(tmp_path / "own"), "decidable/tiny", "workers=1", f"results={tmp_path}"]
    outcome = invoke("experiments", *words)
    assert (outcome.status, outcome.err.count("Traceback")) == (0, 0), outcome.err
    assert "runs to train: 8" in outcome.err
    runs = pd.read_csv(tmp_path / "decidable/figures/tiny_runs.csv")
    assert runs.groupby("kind")["number"].unique().map(list).to_dict() == {key: [0, 1] for key in NAMES}
    assert runs["last"].max() == 80
    again = PAPER.studies(yaml.safe_load(TINY))["tiny"].reread(runs)
    assert sum(map(len, again.values())) == len(runs)
    fewer = invoke("experiments", *words, "study.tiny.languages=1", "replot=true")
    assert (fewer.status, fewer.err) == (0, "")
