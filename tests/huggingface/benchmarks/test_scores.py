"""Tables from scored samples: bins, groups, standard errors by hand, and the paper's layout."""

import math

import pandas as pd
import pytest

from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.paper_tables import babilong_table, depth_table, longbench_bins, longbench_table
from synthlab.huggingface.benchmarks.scores import (
    COLUMNS,
    LONGBENCH_E,
    group_by_length,
    longbench_groups,
    longbench_rows,
    make_rows,
)


def sample(score: float, length: int = 0, **more) -> dict:
    return {"filter": "none", "metrics": ["score"], "score": score, "doc": {"length": length}, **more}


def longbench(of: float = 0.0, lengths=(3999, 4000, 7999, 8000)) -> pd.DataFrame:
    """Scores of all tasks: task i has 0.1 i + of in each sample."""
    found = []
    for i, task in enumerate(task for tasks in LONGBENCH_E.values() for task in tasks):
        own = [sample(i / 100 + of, length) for length in lengths]
        found += longbench_rows(f"longbench_{task}_e", own, {"score,none": i / 100 + of})
    frame = pd.DataFrame(found, columns=COLUMNS)
    return pd.DataFrame([*found, *longbench_groups(frame)], columns=COLUMNS)


def test_row_by_hand():
    [row] = make_rows("t", [sample(0), sample(1), sample(1), sample(0)], {"score,none": 0.5, "alias": "t"})
    assert row == {
        "task": "t", "group": "", "length": "all", "metric": "score",
        "value": 0.5, "stderr": pytest.approx(math.sqrt(1 / 3 / 4)), "samples": 4,
    }  # fmt: skip


def test_a_metric_that_is_no_mean_has_no_error():
    for score, value in (((1.0, 2), 7.0), (1, 9.0)):  # a tuple, and of ones a sum, say
        [row] = make_rows("t", [sample(0) | {"score": score}] * 3, {"score,none": value})
        assert (row["value"], row["samples"]) == (value, 3)
        assert math.isnan(row["stderr"])


def test_bins_of_longbench_e_by_words():
    own = [sample(0.1, 9000), sample(0.2, 3999), sample(0.4, 4000), sample(0.6, 7999)]
    found = longbench_rows("longbench_lcc_e", own, {"score,none": 1.3 / 4})
    assert [(row["length"], row["samples"]) for row in found] == [("all", 4), ("0-4k", 1), ("4-8k", 2), ("8k+", 1)]
    assert [row["value"] for row in found] == pytest.approx([0.325, 0.2, 0.5, 0.1])
    assert {row["group"] for row in found} == {"code"}


def test_ruler_names_its_scores_by_length():
    own = [{"doc": {"max_length": 512}, "512": 1.0, "4096": -1.0}, {"doc": {"max_length": 4096}, "4096": 0.5}]
    found = group_by_length("niah", own, "ruler", lambda each: str(each["doc"]["max_length"]), "recall")
    assert [(row["length"], row["value"]) for row in found] == [("512", 1.0), ("4096", 0.5)]


def test_groups_by_hand():
    frame = longbench()
    own = frame[(frame.task == "longbench_e") & (frame.length == "all")].set_index("group").value
    assert own["single"] == pytest.approx(0.005)  # tasks 0 and 1
    assert own["fewshot"] == pytest.approx(0.07)  # 6, 7, 8
    assert own["all"] == pytest.approx((0.5 + 2.5 + 4.5 + 7 + 9.5 + 11.5) / 600)
    assert set(frame[frame.task == "longbench_e"].length) == {"all", "0-4k", "4-8k", "8k+"}


def test_a_group_that_lacks_a_task_has_no_mean():
    frame = longbench()
    part = frame[~frame.task.isin(["longbench_e", "longbench_lcc_e"])]
    assert {row["group"] for row in longbench_groups(part)} == {*LONGBENCH_E} - {"code"}


def test_tables_have_the_paper_s_layout():
    frames = {(loss, steps): longbench(0.01 * steps) for loss in ("baseline", "ours") for steps in (1, 2)}
    table = longbench_table(frames)
    assert [*table.index] == ["baseline", "ours"]
    assert [*table.columns] == [1, 2]
    assert table.loc["ours", 2] - table.loc["ours", 1] == pytest.approx(1)  # in per cent
    bins = longbench_bins({"one": longbench(lengths=(1, 4000, 9000))})
    assert [*bins.columns] == ["0-4k", "4-8k", "8k+", "all"]
    with pytest.raises(InputError, match="one: has no score of all 13 tasks of LongBench-E"):
        longbench_table({"one": longbench().head(3)})


def test_tables_of_babilong_and_of_depths():
    given = [("qa1", "8k", 0.5), ("qa2", "8k", 0.7), ("qa1", "16k", 0.2), ("qa2", "16k", 0.4)]
    frame = pd.DataFrame(
        [[task, "babilong", length, "acc", value, 0.1, 2] for task, length, value in given],
        columns=COLUMNS,
    )
    table = babilong_table({"one": frame})
    assert [*table.columns] == ["8k", "16k"]
    assert [*table.loc["one"]] == pytest.approx([60, 30])
    deep = pd.DataFrame(
        [["facts", f"depth={d:g}", "256", metric, d / 2, 0.1, 2] for d in (1, 0, 0.5) for metric in ("recall", "loss")],
        columns=COLUMNS,
    )
    table = depth_table({"one": deep})
    assert [*table.columns] == [0, 0.5, 1]
    assert [*table.loc["one"]] == [0, 25, 50]
    with pytest.raises(InputError, match="one: has no row of BABILong"):
        babilong_table({"one": deep})
