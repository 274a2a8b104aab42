"""Tables of scores from what EleutherAI's harness returns for a task."""

import math
from collections.abc import Mapping, Sequence
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


def make_rows(task: str, results: Mapping[str, Any], samples: Sequence[Mapping[str, Any]], length: str = ALL) -> Rows:
    """Return a row for each metric of a task.

    Tasks of LongBench-E have a row for each bin of lengths too. RULER names a metric by its length.

    Args:
        task: The task's name.
        results: The harness's results of the task, by ``metric,filter``.
        samples: Its samples.
        length: The length in the rows.
    """
    group = GROUP_OF.get(task, "")
    made: Rows = []
    for key, value in results.items():
        metric, _, filtered = key.partition(",")
        if not filtered or metric.endswith("_stderr") or not isinstance(value, Real):
            continue
        if metric.isdecimal():
            scores = [sample[metric] for sample in samples if str(sample["doc"].get("max_length")) == metric]
            if scores:
                row = {"group": "ruler", "length": metric, "metric": "recall"}
                made.append({"task": task, **row, **_average(scores)})
            continue
        error = results.get(f"{metric}_stderr,{filtered}")
        row = {"task": task, "group": group, "length": length}
        row["metric"] = metric if filtered == "none" else f"{metric},{filtered}"
        row |= {"value": float(value), "stderr": float(error) if isinstance(error, Real) else math.nan}
        made.append({**row, "samples": len({sample["doc_id"] for sample in samples})})
    if group:
        for name, (low, high) in BINS.items():
            scores = [sample["score"] for sample in samples if low <= sample["doc"]["length"] < high]
            if scores:
                made.append({"task": task, "group": group, "length": name, "metric": "score", **_average(scores)})
    return made


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
            {"group": group, **_average_groups(part)}
            for group, tasks in LONGBENCH_E.items()
            if len(part := own[own.group == group]) == len(tasks)
        ]
        if len(groups) == len(LONGBENCH_E):
            groups.append({"group": ALL, **_average_groups(pd.DataFrame(groups))})
        made += [{"task": "longbench_e", "length": length, "metric": "score", **group} for group in groups]
    return made


def _average_groups(part: pd.DataFrame) -> dict[str, Any]:
    spread = math.sqrt(float((part.stderr**2).sum(skipna=False))) / len(part)
    return {"value": float(part.value.mean()), "stderr": spread, "samples": int(part.samples.sum())}


def _average(scores: Sequence[float]) -> dict[str, Any]:
    error = np.std(scores, ddof=1) / math.sqrt(len(scores)) if len(scores) > 1 else math.nan
    return {"value": float(np.mean(scores)), "stderr": float(error), "samples": len(scores)}
