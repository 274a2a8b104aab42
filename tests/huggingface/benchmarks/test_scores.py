"""Tables from what the harness returns: bins, groups and standard errors by hand."""

import math

import pandas as pd
import pytest

from synthlab.huggingface.benchmarks.scores import COLUMNS, LONGBENCH_E, longbench_groups, make_rows


def sample(score: float, length: int = 0, number: int = 0) -> dict:
    return {"doc_id": number, "score": score, "doc": {"length": length}}


def longbench(lengths=(3999, 4000, 7999, 8000)) -> pd.DataFrame:
    """Scores of all tasks: task i has i / 100 in each sample."""
    rows = []
    for i, task in enumerate(task for tasks in LONGBENCH_E.values() for task in tasks):
        own = [sample(i / 100, length, number) for number, length in enumerate(lengths)]
        rows += make_rows(f"longbench_{task}_e", {"score,none": i / 100, "score_stderr,none": 0.1}, own)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return pd.DataFrame([*rows, *longbench_groups(frame)], columns=COLUMNS)


def test_rows_are_the_harness_s_values():
    results = {"alias": "t", "acc,none": 0.5, "acc_stderr,none": 0.25, "f1,strict": 1.0, "f1_stderr,strict": "N/A"}
    first, second = make_rows("t", results, [sample(0, number=number) for number in range(4)], "1k")
    assert first == dict(zip(COLUMNS, ["t", "", "1k", "acc", 0.5, 0.25, 4], strict=True))
    assert (second["metric"], second["value"], math.isnan(second["stderr"])) == ("f1,strict", 1.0, True)


def test_bins_of_longbench_e_by_words():
    own = [sample(0.1, 9000), sample(0.2, 3999), sample(0.4, 4000), sample(0.6, 7999)]
    found = make_rows("longbench_lcc_e", {"score,none": 0.325}, own)
    assert [(row["length"], row["value"]) for row in found[:2]] == [("all", 0.325), ("0-4k", 0.2)]
    assert [row["value"] for row in found[2:]] == pytest.approx([0.5, 0.1])
    assert found[2]["stderr"] == pytest.approx(0.1)  # of 0.4 and 0.6
    assert {row["group"] for row in found} == {"code"}


def test_ruler_names_its_scores_by_length():
    own = [{"doc": {"max_length": 512}, "512": 1.0, "4096": -1.0}, {"doc": {"max_length": 4096}, "4096": 0.5}]
    found = make_rows("niah_single_1", {"512,none": 1.0, "4096,none": 0.5, "8192,none": -1}, own)
    assert [(row["length"], row["metric"], row["value"]) for row in found] == [
        ("512", "recall", 1.0),
        ("4096", "recall", 0.5),
    ]


def test_groups_by_hand():
    frame = longbench()
    own = frame[(frame.task == "longbench_e") & (frame.length == "all")].set_index("group")
    assert own.value["single"] == pytest.approx(0.005)  # tasks 0 and 1
    assert own.value["fewshot"] == pytest.approx(0.07)  # 6, 7, 8
    assert own.value["all"] == pytest.approx((0.5 + 2.5 + 4.5 + 7 + 9.5 + 11.5) / 600)
    assert own.stderr["single"] == pytest.approx(math.sqrt(0.02) / 2)
    assert set(frame[frame.task == "longbench_e"].length) == {"all", "0-4k", "4-8k", "8k+"}


def test_a_group_that_lacks_a_task_has_no_mean():
    frame = longbench()
    part = frame[~frame.task.isin(["longbench_e", "longbench_lcc_e"])]
    assert {row["group"] for row in longbench_groups(part)} == {*LONGBENCH_E} - {"code"}
