"""The Chomsky hierarchy and randomized positions: scores, gains and claims by hand; the grids."""

from functools import partial

import pandas as pd
import pytest

from experiments.chomsky.claims import CLAIMS, LEVEL
from experiments.chomsky.scores import best, by_arm, by_task, find_pairs, gain, score_runs
from experiments.sequences.published import RANGE
from support.claims import answers_on, judge_on


def runs(found: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Runs trained to 2 and tested on 3 to 4 and on 5, by task and arm; given is each seed's share of right tokens on 3
    to 4. On 5, one length, it is 0.3 less; on the training lengths 1."""
    rows = []
    for task, arms in found.items():
        for arm, shares in arms.items():
            for seed, share in enumerate(shares):
                told = {"task": task, "arm": arm, "series": f"arm={arm}", "seed": seed, "run": f"{task}{arm}{seed}"}
                for first, last, right in ((1, 2, 1.0), (3, 4, share), (5, 5, share - 0.3)):
                    where = {"first": first, "last": last, "train_length": 2, "sequences": 10 * (last - first + 1)}
                    rows.append({**told, **where, RANGE: 0, "tokens": right, "exact": 0.0, "fit": seed == 0})
    return pd.DataFrame(rows)


judged, answers = partial(judge_on, CLAIMS), partial(answers_on, CLAIMS)


BOTH = {
    "a": {"nope": [0.9, 0.5], "rope": [0.6, 0.6], "randomized rope": [0.7, 0.8]},
    "b": {"nope": [0.5, 0.5], "rope": [0.7, 0.5], "randomized rope": [0.6, 0.7]},
}


def test_the_score_is_the_mean_over_lengths():
    table = score_runs(runs(BOTH))
    # Two lengths with the share given and one with 0.3 less: 0.1 less.
    assert table.loc[("a", 0), "nope"] == pytest.approx(0.8)
    assert table.loc[("b", 1), "randomized rope"] == pytest.approx(0.6)
    assert find_pairs(table) == ["rope"]
    assert gain(table, "rope").to_dict() == pytest.approx({("a", 0): 0.1, ("a", 1): 0.2, ("b", 0): -0.1, ("b", 1): 0.2})
    assert best(table, False).tolist() == pytest.approx([0.8, 0.5, 0.6, 0.4])


def test_the_tables_by_hand():
    found = runs(BOTH)
    arms = by_arm(found, {(task, arm): 3 for task in BOTH for arm in BOTH[task]})
    first = arms.iloc[0]
    assert [first[name] for name in ("median", "least", "greatest", "within")] == pytest.approx([0.6, 0.4, 0.8, 1.0])
    assert [first[name] for name in ("fit", "finished", "runs")] == [1, 2, 3]
    tasks = by_task(found).set_index("task")
    assert tasks.loc["a", ["plain_maximum", "randomized_maximum", "gain_of_maxima"]].tolist() == pytest.approx(
        [0.8, 0.7, -0.1]
    )
    assert tasks.loc["a", ["median_gain", "least_gain", "greatest_gain"]].tolist() == pytest.approx([0.15, 0.1, 0.2])
    # The maximum says that randomized positions harm, on average, where most pairs of runs say that they help.
    assert tasks.loc["mean over 2", ["gain_of_maxima", "median_gain"]].tolist() == pytest.approx([-0.05, 0.1])
    assert by_task(runs({"a": {"nope": [0.5], "rope": [0.5]}})).empty


def test_randomized_positions_by_hand():
    # Of RoPE 0.1 and 0.2 on a, -0.1 and 0.2 on b: by medians it owes more to a. Of the best -0.2 and 0.2 on a, -0.1 and
    # 0.2 on b: more to b.
    of_rope, without_a, of_best, without_b = (c for id in ("C1", "C1_best") for c in judged(id, runs(BOTH)).checks)
    assert of_rope.values.tolist() == pytest.approx([0.0, 0.2])
    assert without_a.values.tolist() == pytest.approx([-0.1, 0.2])
    assert of_best.values.tolist() == pytest.approx([-0.15, 0.2])
    assert without_b.values.tolist() == pytest.approx([-0.2, 0.2])
    better = {
        task: arms | {"randomized rope": [1.0] * 5, "rope": [0.6] * 5, "nope": [0.9] * 5} for task, arms in BOTH.items()
    }
    assert judged("C1", runs(better)).word == judged("C1_best", runs(better)).word == "holds"
    worse = {task: arms | {"randomized rope": [0.5] * 5} for task, arms in better.items()}
    assert judged("C1", runs(worse)).word == "fails"
    # A seed that lacks the run of a task is left out.
    lacks = runs(better).query("not (task == 'a' and arm == 'rope' and seed == 4)")
    assert [len(check.values) for check in judged("C1", lacks).checks] == [4] * 2
    assert judged("C1", runs({"a": {"nope": [0.5]}})).word == "not tested"


def test_no_plain_encoding_generalizes():
    # Scores of 0.7 and 0.6; randomized positions do not count.
    low = {"nope": [0.8] * 5, "rope": [0.7] * 5, "randomized rope": [1.1] * 5}

    def fitted(found):
        return runs(found).assign(fit=lambda rows: rows["seed"] < 3)

    (check,) = judged("C2", fitted({"a": low})).checks
    assert (check.answer, check.median, check.high) == ("holds", pytest.approx(0.7), LEVEL)
    high = fitted({"b": {**low, "nope": [1.05] * 5}})
    assert judged("C2", high).word == "fails"
    assert answers("C2", fitted({"a": low}), high) == ["holds", "fails"]
    unfit = runs({"a": low})
    assert judged("C2", unfit.assign(fit=unfit["seed"] < 2)).word == "not tested"
    assert judged("C2", unfit.assign(fit=unfit["arm"] == "randomized rope")).word == "not tested"
    assert judged("C2", unfit.assign(fit=unfit["arm"] == "nope")).word == "holds"
