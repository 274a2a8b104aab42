"""Tables of scores from the samples that EleutherAI's harness has scored."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ["task", "group", "length", "metric", "value", "stderr", "samples"]
# LongBench-E (Bai et al. 2023, table 6): the tasks of LongBench in English and code with even numbers of samples by
# length. The harness's own longbench_e lacks the groups of summaries and of synthetic tasks.
LONGBENCH_E = {
    "single": ("qasper", "multifieldqa_en"),
    "multi": ("hotpotqa", "2wikimqa"),
    "summarization": ("gov_report", "multi_news"),
    "fewshot": ("trec", "triviaqa", "samsum"),
    "synthetic": ("passage_count", "passage_retrieval_en"),
    "code": ("lcc", "repobench-p"),
}
GROUP_OF = {f"longbench_{task}_e": group for group, tasks in LONGBENCH_E.items() for task in tasks}
BINS = {"0-4k": (0, 4000), "4-8k": (4000, 8000), "8k+": (8000, math.inf)}  # in words, as the data set counts them
ALL = "all"

Rows = list[dict[str, Any]]
LoggedSample = Mapping[str, Any]


def make_rows(
    task: str, samples: Sequence[LoggedSample], aggregated: Mapping[str, Any], group: str = "", length: str = ALL
) -> Rows:
    """Return a row for each metric of a task: the harness's value and its standard error over samples.

    The standard error is NaN if the value is not the mean over samples.

    Args:
        task: The name in the table.
        samples: The harness's samples of the task.
        aggregated: Its results, by ``metric,filter``.
        group: The group in the rows.
        length: The length in the rows.
    """
    made: Rows = []
    for filtered in dict.fromkeys(sample["filter"] for sample in samples):
        own = [sample for sample in samples if sample["filter"] == filtered]
        for metric in own[0]["metrics"]:
            given = aggregated.get(f"{metric},{filtered}")
            if not isinstance(given, Real):
                continue
            values = [sample[metric] for sample in own]
            row = _row(values) if all(isinstance(value, Real) for value in values) else None
            if row is None or not math.isclose(row["value"], float(given), rel_tol=1e-9, abs_tol=1e-12):
                row = {"value": float(given), "stderr": math.nan, "samples": len(own)}
            name = metric if filtered == "none" else f"{metric},{filtered}"
            made.append({"task": task, "group": group, "length": length, "metric": name, **row})
    return made


def group_by_length(
    task: str, samples: Sequence[LoggedSample], group: str, length_of: Callable[[LoggedSample], str], metric: str
) -> Rows:
    """Return a row for each length of the samples, in order of first appearance.

    If a sample lacks the metric, its score is the metric named by its length, as in RULER.
    """
    lengths: dict[str, list[float]] = {}
    for sample in samples:
        length = length_of(sample)
        lengths.setdefault(length, []).append(sample[metric] if metric in sample else sample[length])
    name = {"task": task, "group": group}
    return [{**name, "length": length, "metric": metric, **_row(values)} for length, values in lengths.items()]


def longbench_bin(sample: LoggedSample) -> str:
    """Return the bin of LongBench-E of a sample's text, by its length in words."""
    return next(name for name, (low, high) in BINS.items() if low <= sample["doc"]["length"] < high)


def longbench_rows(task: str, samples: Sequence[LoggedSample], aggregated: Mapping[str, Any]) -> Rows:
    """Return the rows of a task of LongBench-E: over all lengths, and each bin's score."""
    group = GROUP_OF[task]
    binned = group_by_length(task, samples, group, longbench_bin, "score")
    return make_rows(task, samples, aggregated, group) + sorted(binned, key=lambda row: [*BINS].index(row["length"]))


def longbench_groups(frame: pd.DataFrame) -> Rows:
    """Return rows of the task ``longbench_e``, with means over groups as the harness averages.

    For each length there is each group's mean over its tasks, and in the group ``all`` the mean over groups. Standard
    errors are those of means of independent numbers. Groups and lengths that lack a task are omitted.
    """
    made: Rows = []
    scores = frame[(frame.metric == "score") & frame.task.isin(GROUP_OF)]
    for length in (ALL, *BINS):
        own = scores[scores.length == length]
        groups = [
            {"group": group, **_mean(part)}
            for group, tasks in LONGBENCH_E.items()
            if len(part := own[own.group == group]) == len(tasks)
        ]
        if len(groups) == len(LONGBENCH_E):
            groups.append({"group": ALL, **_mean(pd.DataFrame(groups))})
        made += [{"task": "longbench_e", "length": length, "metric": "score", **group} for group in groups]
    return made


def _mean(part: pd.DataFrame) -> dict[str, Any]:
    spread = math.sqrt(float((part.stderr**2).sum(skipna=False))) / len(part)
    return {"value": float(part.value.mean()), "stderr": spread, "samples": int(part.samples.sum())}


def _row(values: Sequence[float]) -> dict[str, Any]:
    array = np.asarray(values, dtype=float)
    error = array.std(ddof=1) / math.sqrt(len(array)) if len(array) > 1 else math.nan
    return {"value": float(array.mean()), "stderr": float(error), "samples": len(array)}
