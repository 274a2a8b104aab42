"""Checks on exact match beyond the training lengths: whether the models of a task generalize.

They are made on a table with a row for each finished run and range of lengths, as ``reproduction`` makes it.
"""

import pandas as pd

from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence


def generalizes(runs: pd.DataFrame, arm: str, level: float) -> list[Check]:
    """That the share of wrong answers of an ``arm`` stays under ``level`` in every range of lengths beyond training.
    Raises NoEvidence where no run is finished."""
    return [errs(rows, f"{_told(rows)} wrong", level, generalizing=True) for rows in _beyond(runs, arm)]


def fails(runs: pd.DataFrame, arm: str, level: float) -> list[Check]:
    """That the share of wrong answers of an ``arm`` is ``level`` or more in the last range of lengths. Raises
    NoEvidence where no run is finished."""
    last = _beyond(runs, arm)[-1]
    return [errs(last, f"{_told(last)} wrong", level, generalizing=False)]


def errs(rows: pd.DataFrame, what: str, level: float, generalizing: bool) -> Check:
    """That the share of wrong answers in ``rows``, one for each run, is under ``level``, or else ``level`` or more.
    More seeds of their series would decide it."""
    wrong, series = 1 - rows["exact"].to_numpy(dtype=float), tuple(dict.fromkeys(rows["series"]))
    return Check(what, wrong, high=level, series=series) if generalizing else Check(what, wrong, level, series=series)


def _beyond(runs: pd.DataFrame, arm: str) -> list[pd.DataFrame]:
    """The rows of an arm in each range beyond the training lengths, the shortest first."""
    rows = runs[(runs["arm"] == arm) & (runs["first"] > runs["train_length"])]
    if rows.empty:
        raise NoEvidence(f"no finished run of {arm} that is tested beyond training")
    return [of_range for _, of_range in rows.groupby(["first", "last"])]


def _told(rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return f"{row['task']}, {row['arm']}, lengths {row['first']:g} to {row['last']:g}: share"
