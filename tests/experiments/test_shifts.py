"""The alignment view on tasks whose answers are tokens, by hand."""

import pandas as pd
import pytest

from experiments.crasp.claims import CLAIMS
from experiments.sequences.alignment import ALIGNMENT, concordance, shifts, with_alignment
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.study import Results
from synthlab.studies.verdicts import Grounds, judge


def runs(cells: dict[tuple[str, str], tuple[float, float]], seeds: int = 5, chance: float = 0.0) -> pd.DataFrame:
    """Runs trained to 4 and tested on 5 to 8, of each task and arm the exact match and the shift beyond training."""
    made = []
    for (task, arm), (exact, shift) in cells.items():
        for seed in range(seeds):
            about = {"task": task, "arm": arm, "seed": seed, "series": arm, "train_length": 4, "chance": chance}
            made.append({**about, "first": 1, "last": 4, "exact": 1.0, "shift": 0.0, "target_shift": 0.0})
            beyond = {"exact": exact, "shift": shift, "target_shift": 0.1 if task == "easy" else 0.2}
            made.append({**about, "first": 5, "last": 8, **beyond})
    return pd.DataFrame(made)


AS_EXPECTED = {
    ("easy", "nope"): (1.0, 0.1),
    ("easy", "rope"): (0.6, 0.2),
    ("hard", "nope"): (0.5, 0.4),
    ("hard", "rope"): (0.0, 0.6),
}


def judged(claim: str, table: pd.DataFrame) -> str:
    (verdict,) = judge([CLAIMS[claim]], "by hand", [Grounds([claim], table)])
    return verdict.word


def test_exact_match_is_counted_above_chance():
    found = shifts(runs({("bit", "nope"): (0.5, 0.3), ("bit", "rope"): (0.75, 0.0)}, seeds=1, chance=0.5))
    assert found[["arm", "shift", "above"]].values.tolist() == [["nope", 0.3, 0.0], ["rope", 0.0, 0.5]]
    certain = shifts(runs({("sure", "nope"): (1.0, 0.3)}, chance=1.0))
    assert certain["above"].isna().all()


def test_a_pair_counts_if_the_smaller_shift_is_the_better():
    found = shifts(runs(AS_EXPECTED, seeds=2))
    for shift, between in (("shift", "task"), ("target_shift", "task"), ("shift", "arm")):
        assert concordance(found, shift, between).tolist() == [1.0, 1.0]
    assert concordance(found, "target_shift", "arm").tolist() == [0.5, 0.5]  # equal shifts say nothing
    crossed = AS_EXPECTED | {("hard", "nope"): (0.5, 0.7)}
    assert concordance(shifts(runs(crossed, seeds=1)), "shift", "arm").tolist() == [0.5]
    near = {("easy", "nope"): (1.0, 0.1), ("easy", "rope"): (0.95, 0.2)}
    assert concordance(shifts(runs(near)), "shift", "arm").empty


def test_claims_by_hand():
    reverse = {key: (exact, 1 - shift) for key, (exact, shift) in AS_EXPECTED.items()}
    for claim in ("A1", "A3"):
        assert judged(claim, runs(AS_EXPECTED)) == "holds"
        assert judged(claim, runs(reverse)) == "does not hold"
    assert judged("A2", runs(AS_EXPECTED)) == "holds"
    assert judged("A4", runs(AS_EXPECTED)) == "holds"  # the excess is 0 or 0.1 where it is easy, 0.2 or 0.4 where hard
    away = {
        ("easy", "nope"): (1.0, 0.1),
        ("easy", "rope"): (0.6, 0.0),
        ("hard", "nope"): (0.5, 0.0),
        ("hard", "rope"): (0.0, 0.6),
    }
    assert judged("A4", runs(away)) == "holds"  # outputs that stay where right answers shift do not count as aligned
    assert judged("A3", runs(away)) == "does not hold"
    alone = runs({("easy", "nope"): (1.0, 0.1)})
    assert judged("A1", alone) == "not judged"
    with pytest.raises(NoEvidence, match="differ by their task"):
        CLAIMS["A1"].judge(alone)


def test_without_lengths_beyond_training_nothing_is_shown():
    within = runs(AS_EXPECTED).query("first == 1")
    assert with_alignment(Results({}), within, "") == Results({})
    shown = with_alignment(Results({}), runs(AS_EXPECTED), "")
    assert list(shown.panels) == [ALIGNMENT]
    assert len(shown.lines) == 5
