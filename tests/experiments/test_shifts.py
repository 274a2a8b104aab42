"""The alignment view on tasks whose answers are tokens, by hand."""

import pandas as pd
import pytest

from experiments.crasp.claims import CLAIMS
from experiments.sequences.alignment import ALIGNMENT, pairs, shifts, with_alignment
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.study import Results
from synthlab.studies.verdicts import Grounds, judge


def runs(cells: dict[tuple[str, str], tuple[float, float]], seeds: int = 1, chance: float = 0.0) -> pd.DataFrame:
    """Runs trained to 4 and tested on 5 to 8, of each task and arm the exact match and the shift beyond training; of
    rope a tenth of the training lengths is wrong."""
    made = []
    for (task, arm), (exact, shift) in cells.items():
        for seed in range(seeds):
            about = {"task": task, "arm": arm, "seed": seed, "series": arm, "train_length": 4, "chance": chance}
            about |= {"sequences": 8, "tokens": 0.5, "target_shift": 0.0}
            made.append({**about, "first": 1, "last": 4, "exact": 0.9 if arm == "rope" else 1.0, "shift": 0.0})
            made.append({**about, "first": 5, "last": 8, "exact": exact, "shift": shift})
    return pd.DataFrame(made)


def tasks(nope: tuple[float, float], rope: tuple[float, float], number: int = 6) -> pd.DataFrame:
    """As many tasks on which both encodings have the same exact match and shift."""
    names = [f"task{index}" for index in range(number)]
    return runs({(name, arm): cell for name in names for arm, cell in (("nope", nope), ("rope", rope))}, seeds=2)


def judged(claim: str, table: pd.DataFrame) -> str:
    (verdict,) = judge([CLAIMS[claim]], "by hand", [Grounds([claim], table)])
    return verdict.word


def test_exact_match_is_counted_above_chance():
    table = runs({("bit", "nope"): (0.5, 0.3), ("bit", "rope"): (0.75, 0.0)}, chance=0.5)
    found = shifts(table, "exact").set_index("arm")
    assert found["score"].to_dict() == {"nope": 0.0, "rope": 0.5}
    assert found["shift"].to_dict() == {"nope": 0.3, "rope": 0.0}
    assert found["misfit"].to_dict() == pytest.approx({"nope": 0.0, "rope": 0.1})
    assert shifts(table, "tokens")["score"].tolist() == [0.5, 0.5]
    assert shifts(runs({("sure", "nope"): (1.0, 0.3)}, chance=1.0), "exact").empty


def test_pairs_say_so_or_the_contrary_or_nothing():
    found = shifts(
        runs(
            {
                ("a", "nope"): (1.0, 0.1),
                ("a", "rope"): (0.5, 0.2),  # the smaller shift is the better
                ("b", "nope"): (1.0, 0.3),
                ("b", "rope"): (0.5, 0.2),  # the greater
                ("c", "nope"): (1.0, 0.2),
                ("c", "rope"): (0.5, 0.205),  # alike
                ("d", "nope"): (1.0, 0.1),
                ("d", "rope"): (0.95, 0.2),  # as good
            }
        ),
        "exact",
    )
    compared = pairs(found, "arm").set_index("task")
    assert compared["shift"].to_dict() == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert compared["misfit"].tolist() == [1.0, 1.0, 1.0]
    between = pairs(found, "task")
    assert set(between["arm"]) == {"rope"}  # nope is right on all
    assert between["misfit"].tolist() == [0.5] * 3
    assert between["shift"].tolist() == [0.5] * 3


def test_claims_are_judged_by_tasks():
    assert judged("A1", tasks((1.0, 0.1), (0.5, 0.2))) == "holds"
    assert judged("A1", tasks((1.0, 0.2), (0.5, 0.1))) == "does not hold"
    assert judged("A2", tasks((1.0, 0.2), (0.5, 0.1))) == "holds"
    assert judged("A1", tasks((1.0, 0.1), (0.5, 0.2), number=1)) != "does not hold"
    (check,) = CLAIMS["A1"].judge(tasks((1.0, 0.1), (0.5, 0.2)))
    assert (str(check.witnesses), check.what) == ("6 tasks", "share of 12 pairs")
    with pytest.raises(NoEvidence, match="no two encodings"):
        CLAIMS["A1"].judge(tasks((1.0, 0.1), (1.0, 0.2)))


def test_without_lengths_beyond_training_nothing_is_shown():
    table = tasks((1.0, 0.1), (0.5, 0.2))
    assert with_alignment(Results({}), table.query("first == 1"), "exact", "") == Results({})
    shown = with_alignment(Results({}), table, "exact", "")
    assert list(shown.panels) == [ALIGNMENT]
    assert shown.lines == [
        "of two encodings on one task the better is that, of 12 pairs: 100 % whose outputs shift less, "
        "100 % whose training lengths are fitted better"
    ]
