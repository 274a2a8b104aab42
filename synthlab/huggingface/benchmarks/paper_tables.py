"""The layout of the paper's tables ("Long-Short Alignment", arXiv 2506.11769), from tables of scores. In per cent."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.scores import ALL, BINS

Frames = Mapping[Any, pd.DataFrame]  # by names of rows, or (row, column)


def longbench_table(frames: Frames) -> pd.DataFrame:
    """Return the LongBench-E score of each model: tables 1 to 5, 9, 10.

    Args:
        frames: Scores of ``evaluate_tasks`` by the row's name, or by (row, column), such as ``("L_train + 0.1
            L_misalign", 200)``, where a column is a number of training steps.

    Raises:
        InputError: A table lacks one of the 13 tasks.
    """
    scores = pd.Series({name: _tabulate_overall(name, frame)[ALL] for name, frame in frames.items()})
    if isinstance(scores.index, pd.MultiIndex):
        return scores.unstack(sort=False)
    return scores.to_frame("LongBench-E")


def longbench_bins(frames: Frames) -> pd.DataFrame:
    """Return the same score by the texts' lengths in words, in LongBench's bins 0-4k, 4-8k and 8k+."""
    return pd.DataFrame({name: _tabulate_overall(name, frame) for name, frame in frames.items()}).T[[*BINS, ALL]]


def babilong_table(frames: Frames) -> pd.DataFrame:
    """Return the mean accuracy over BABILong's tasks at each length: table 6."""
    found = {}
    for name, frame in frames.items():
        own = frame[(frame.group == "babilong") & (frame.metric == "acc")]
        if own.empty:
            raise InputError(f"{name}: has no row of BABILong")
        found[name] = 100 * own.groupby("length").value.mean()
    table = pd.DataFrame(found).T
    return table[sorted(table.columns, key=lambda length: int(length.removesuffix("k")))]


def depth_table(frames: Frames, task: str = "facts", metric: str = "recall") -> pd.DataFrame:
    """Return a score at each depth of the queried fact, over all lengths: table 7, with a synthetic task."""
    found = {}
    for name, frame in frames.items():
        own = frame[(frame.task == task) & (frame.metric == metric) & frame.group.str.startswith("depth=")]
        if own.empty:
            raise InputError(f"{name}: has no row of {task} at a depth; evaluate it with depths=[0,0.25,0.5,0.75,1]")
        found[name] = 100 * own.groupby(own.group.str.removeprefix("depth=").astype(float)).value.mean()
    return pd.DataFrame(found).T.sort_index(axis=1)


def _tabulate_overall(name: Any, frame: pd.DataFrame) -> "pd.Series[float]":
    own = frame[(frame.task == "longbench_e") & (frame.group == ALL)].set_index("length").value
    if ALL not in own:
        raise InputError(f"{name}: has no score of all 13 tasks of LongBench-E; evaluate longbench_e")
    return 100 * own.reindex([*BINS, ALL])
