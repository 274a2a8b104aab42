"""The alignment view on tasks whose answers are tokens, by hand."""

import pandas as pd
import pytest

from experiments.crasp.claims import CLAIMS
from experiments.sequences.alignment import pair_runs, shifts
from experiments.sequences.published import RANGE
from synthlab.studies.checks import Check
from synthlab.studies.verdicts import Grounds, judge


def runs(cells: dict[tuple[str, str], tuple[float, float]], seeds: int = 1, chance: float = 0.0) -> pd.DataFrame:
    """Runs trained to 4 and tested on 5 to 8, of each task and arm the exact match and the shift beyond training; of
    rope a tenth of the training lengths is wrong."""
    made = []
    for (task, arm), (exact, shift) in cells.items():
        for seed in range(seeds):
            about = {"task": task, "arm": arm, "seed": seed, "series": arm, "train_length": 4, "chance": chance}
            about |= {"sequences": 8, "tokens": 0.5, "target_shift": 0.0, RANGE: 0}
            made.append({**about, "first": 1, "last": 4, "exact": 0.9 if arm == "rope" else 1.0, "shift": 0.0})
            made.append({**about, "first": 5, "last": 8, "exact": exact, "shift": shift})
    return pd.DataFrame(made)


def test_exact_match_is_counted_above_chance():
    table = runs({("bit", "nope"): (0.5, 0.3), ("bit", "rope"): (0.75, 0.0)}, chance=0.5)
    found = shifts(table, "exact").set_index("arm")
    assert found["score"].to_dict() == {"nope": 0.0, "rope": 0.5}
    assert found["shift"].to_dict() == {"nope": 0.3, "rope": 0.0}
    assert found["misfit"].to_dict() == pytest.approx({"nope": 0.0, "rope": 0.1})


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
    compared = pair_runs(found).set_index("task")
    assert compared["shift"].to_dict() == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert compared["misfit"].tolist() == [1.0, 1.0, 1.0]


def ordered(exact: list[float], shifted: list[float], number: int = 6) -> pd.DataFrame:
    """As many tasks, on which encodings a, b, ... have these exact matches beyond training and these shifts."""
    cells = {arm: cell for arm, *cell in zip("abcdefg", exact, shifted, strict=False)}
    return runs({(f"task{index}", arm): (cell[0], cell[1]) for index in range(number) for arm, cell in cells.items()})


def judged(claim: str, table: pd.DataFrame) -> tuple[str, list[Check]]:
    (verdict,) = judge([CLAIMS[claim]], "by hand", [Grounds([claim], table)])
    return verdict.word, verdict.checks


EXACT, ASCENDING = [1.0, 0.8, 0.6, 0.4, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5]


def test_claims_are_judged_by_tasks_and_by_encodings():
    word, checks = judged("A1", ordered(EXACT, ASCENDING))
    assert word == "holds"
    assert [str(check.witnesses) for check in checks] == ["6 tasks", "5 encodings"]
    assert [check.interval[:2] for check in checks] == [(1, 1), (1, 1)]
    assert judged("A1", ordered(EXACT, ASCENDING[::-1]))[0] == "does not hold"
    table = ordered(EXACT, ASCENDING[::-1])
    within = table["last"] == 4
    fitted = table.assign(exact=table["exact"].where(~within, table["arm"].map(dict(zip("abcde", EXACT, strict=True)))))
    assert judged("A2", fitted)[0] == "holds"
    assert judged("A1", ordered(EXACT[:4], ASCENDING))[0] == "not tested"


def test_a_share_that_one_encoding_carries():
    # The best encoding shifts most and is against the claim in its four pairs; the other six are for it. Without it
    # their share is 1, without one of the others three of six.
    word, (by_task, by_encoding) = judged("A1", ordered(EXACT, [0.9, 0.1, 0.2, 0.3, 0.4]))
    assert by_task.values.tolist() == by_encoding.values.tolist() == pytest.approx([0.6])
    assert (by_task.interval.low, by_task.interval.high) == (0.5, 1.0)
    assert by_encoding.interval[:2] == (0, 1)  # student(4) times the root of 4/5 (0.4^2 + 4 * 0.1^2) is 1.1
    assert word == "undecided"
