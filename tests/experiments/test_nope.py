"""The paper of Kazemnejad et al.: its published numbers, mean reciprocal ranks and claims by hand, its grids."""

from functools import partial

import pandas as pd
import pytest

from experiments.nope.claims import CLAIMS
from experiments.nope.miniature import RATES
from experiments.nope.paper import Nope
from experiments.sequences.published import RANGE, read_published
from experiments.sequences.ranks import (
    check_above,
    find_fitted_tasks,
    mean_by_seed,
    ranking,
    reciprocal_ranks,
    score_beyond,
    score_published,
)
from support.claims import answers_on, judge_on

NUMBERS = read_published(Nope.numbers)
ARMS = ["nope", "t5", "alibi", "partial_rope", "sinusoidal"]
LASTS = (20, 25, 30, 35, 40)


def rows(exact: dict[str, list[float]], task="copy", seeds=5) -> pd.DataFrame:
    """Runs of each arm, alike under all seeds, which fit: exact match in each of the ranges that end at ``LASTS``."""
    made = []
    for arm, numbers in exact.items():
        for last, number in zip(LASTS, numbers, strict=True):
            first = 1 if last == 20 else last - 4
            where = {"first": first, "last": last, "train_length": 20, RANGE: 0, "fit": True}
            model = {"task": task, "arm": arm, "series": f"arm={arm}", "exact": number}
            made += [{"seed": seed, "run": f"{task}{arm}{seed}", **model, **where} for seed in range(seeds)]
    return pd.DataFrame(made)


judged, answers = partial(judge_on, CLAIMS), partial(answers_on, CLAIMS)


FAR, CLOSE, NOT = [1.0] * 5, [1.0, 0.8, 0.4, 0.1, 0.0], [1.0, 0.1, 0.0, 0.0, 0.0]


def test_the_published_numbers_are_those_of_the_exports():
    table = NUMBERS.table().set_index(["task", "arm", "published_last"])
    # By hand from the exports: the three seeds' means over lengths 21 to 25, or 36 to 40.
    for key, mean in {
        ("copy", "nope", 25): (0.7456 + 0.7428 + 0.7516) / 3,
        ("repeat", "nope", 40): (0.9624 + 0.9584 + 0.9844) / 3,
        ("repeat", "t5", 40): (0.3060 + 0.4860 + 0.2956) / 3,
        ("reverse", "partial_rope", 25): (0.1624 + 0.6540 + 0.1120) / 3,
    }.items():
        assert table.loc[key, "published"] == pytest.approx(mean, abs=1e-6), key
    # The exports' own mean over all test lengths, pred/test_acc_overall.
    overall = score_published(NUMBERS).set_index(["task", "arm", "seed"])["score"]
    for key, score in {
        ("copy", "nope", 0): 0.2896,
        ("copy", "t5", 2): 0.4350,
        ("replace", "partial_rope", 2): 0.0467,
    }.items():
        assert overall[key] == pytest.approx(score, abs=1.1e-4), key
    assert not table.index.duplicated().any()


def test_claims_hold_on_the_published_numbers():
    theirs = NUMBERS.table().rename(columns={"published_first": "first", "published_last": "last"})
    theirs = theirs.assign(train_length=20, exact=theirs["published"], series="arm=" + theirs["arm"])
    theirs = theirs.assign(fit=True)
    by_task = {task: pd.concat([table] * 5) for task, table in theirs.groupby("task")}
    copies, repeats = ("copy", "reverse"), ("repeat", "replace")
    for claim, tasks in {"N1": repeats, "N2": copies, "N2_absolute": copies, "N3": copies + repeats}.items():
        assert judged(claim, *(by_task[task] for task in tasks)).word == "holds"


def test_ranks_by_hand():
    runs = rows(
        {"nope": [0.0, 1.0, 1.0, 1.0, 0.0], "t5": [1.0, 0.5, 0.0, 0.0, 0.0], "alibi": [1.0, *[0.0] * 4]}, seeds=1
    )
    assert score_beyond(runs)["score"].tolist() == [0.75, 0.125, 0.0]  # lengths within training do not count
    third = runs[runs["arm"] == "alibi"].assign(arm="partial_rope")
    tied = reciprocal_ranks(score_beyond(pd.concat([runs, third])), ["nope", "t5", "alibi", "partial_rope"])
    assert tied["reciprocal"].tolist() == pytest.approx([1, 1 / 2, 1 / 3.5, 1 / 3.5])  # third and fourth


def test_ranges_count_by_their_lengths():
    uneven = pd.DataFrame(
        {"task": "t", "seed": 0, "arm": "a", "train_length": 4, "first": [5, 6], "last": [5, 8], "exact": [1.0, 0.0]}
    ).assign(**{RANGE: 0})
    assert score_beyond(uneven)["score"].tolist() == [0.25]


def test_mean_reciprocal_ranks_by_hand():
    here = rows({"nope": FAR, "t5": CLOSE}, "copy", seeds=2)
    there = rows({"nope": CLOSE, "t5": FAR}, "reverse", seeds=3)
    ranks = reciprocal_ranks(score_beyond(pd.concat([here, here.assign(task="sort"), there])), ["nope", "t5"])
    means = mean_by_seed(ranks)
    assert means.index.tolist() == [0, 1]  # the third seed has one task alone
    assert means["nope"].tolist() == pytest.approx([2.5 / 3] * 2)
    assert means["t5"].tolist() == pytest.approx([2 / 3] * 2)
    assert check_above(ranks, "nope", "t5").values.tolist() == pytest.approx([-1 / 6] * 2)
    assert check_above(ranks, "t5", "nope").values.tolist() == pytest.approx([1 / 6] * 2)
    table = ranking(ranks, NUMBERS, ["nope", "t5"], ["reverse"]).set_index("arm")
    assert table.loc["nope", ["fitted", "others"]].tolist() == [0.5, 1.0]
    # Theirs on copy and reverse: T5 is the better of the two but for one seed of three on reverse.
    assert table["theirs"].to_dict() == pytest.approx({"nope": (0.5 + 0.5 + 0.5 + 1 + 0.5 + 0.5) / 6, "t5": 5.5 / 6})


def test_fitted_tasks_by_hand():
    found = pd.concat([rows(dict.fromkeys(("nope", "t5", "rope"), FAR), task, seeds=3) for task in ("a", "b")])
    found["fit"] = (found["task"] == "a") | (found["seed"] > 0) | (found["arm"] == "nope")
    assert find_fitted_tasks(found, ["nope", "t5"]) == ["a", "b"]  # two of three runs
    found["fit"] &= (found["task"] == "a") | (found["seed"] > 1) | (found["arm"] != "t5")
    assert find_fitted_tasks(found, ["nope", "t5"]) == ["a"]  # one of three of T5
    assert find_fitted_tasks(found, ["nope", "rope"]) == ["a", "b"]


def ranked(order: list[str], seeds: int = 5) -> pd.DataFrame:
    """Ranks of runs of which those of the first arm are best."""
    exact = {arm: [1.0, *[1 - place / 10] * 4] for place, arm in enumerate(order)}
    return reciprocal_ranks(score_beyond(rows(exact, seeds=seeds)), ARMS)


def test_claims_on_ranks_by_hand():
    assert judged("R1", ranked(ARMS)).word == "holds"
    assert judged("R2", ranked(ARMS)).word == judged("R3", ranked(ARMS)).word == "holds"
    nothing = reciprocal_ranks(score_beyond(rows(dict.fromkeys(ARMS, NOT))), ARMS)
    assert judged("R1", nothing).word == judged("R2", nothing).word == "fails"  # all are equal
    assert judged("R1", ranked(ARMS[::-1])).word == "fails"
    assert judged("R2", ranked(ARMS[::-1])).word == "fails"
    split = [judged("R1", ranked(["t5", "nope", *ARMS[2:]], seeds)) for seeds in (5, 10)]
    assert [found.word for found in split] == ["", "fails in part"]  # in one check of four, five of five or ten of ten


def test_claims_on_lengths_by_hand():
    theirs = {"nope": CLOSE, "t5": CLOSE, "alibi": CLOSE, "partial_rope": NOT, "sinusoidal": NOT}
    assert judged("N2", rows(theirs)).word == judged("N2_absolute", rows(theirs)).word == "holds"
    assert answers("N2", rows(theirs | {"nope": NOT})) == ["fails", "holds", "holds"]
    assert judged("N3", rows(theirs)).word == "holds"
    assert judged("N3", rows(dict.fromkeys(ARMS, FAR))).word == "fails"
    assert len(judged("N3", rows(theirs, "repeat")).checks) == 3  # NoPE and T5's bias may generalize there
    assert judged("N1", rows(theirs | {"nope": FAR})).word == "holds"
    assert answers("N1", rows(theirs)) == ["holds", "fails", "fails", "fails"]


def test_rates_are_compared_where_both_encodings_fit():
    exact = {f"{name} {rate}": FAR if name == "nope" else CLOSE for name in ("nope", "t5") for rate in RATES}
    runs = rows(exact, "repeat_2")
    runs.loc[runs["arm"] == "t5 3e-4", "fit"] = False
    lead, near = judged("M1", runs).checks, judged("M3", runs).checks
    assert [check.answer for check in lead] == [check.answer for check in near] == ["holds", "holds", "not tested"]
    # Of lengths 21 to 40 T5's bias has 0.8, 0.4, 0.1 and 0 right in four ranges of five, NoPE all.
    assert lead[0].median == pytest.approx(1.3 / 4 - 1)
    assert near[0].median == pytest.approx(0.2)
