"""Checks on exact match beyond the training lengths: whether the models of a task generalize.

Their table has a row for each finished run and range of lengths, as in ``reproduction``. A check is not tested if fewer
than half of its runs fit their training lengths: a model that has not learned a task errs beyond training too, whatever
its encoding can do, and a check is on the median run.
"""

import pandas as pd

from experiments.sequences.published import RANGE
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence

LEAST_FIT = 0.5  # the least share of runs that fit, for a check to be tested


def generalizes(runs: pd.DataFrame, arm: str, level: float) -> list[Check]:
    """Check that the error rate of an ``arm`` stays under ``level`` in every range of lengths beyond training.

    Raises NoEvidence if no run is finished.
    """
    return [errs(rows, f"{_describe_rows(rows)} wrong", level, generalizing=True) for rows in _split_beyond(runs, arm)]


def fails(runs: pd.DataFrame, arm: str, level: float) -> list[Check]:
    """Check that the error rate of an ``arm`` is ``level`` or more in the last range of lengths.

    Raises NoEvidence if no run is finished.
    """
    last = _split_beyond(runs, arm)[-1]
    return [errs(last, f"{_describe_rows(last)} wrong", level, generalizing=False)]


def errs(rows: pd.DataFrame, what: str, level: float, generalizing: bool) -> Check:
    """Check that the error rate in ``rows``, one for each run, is under ``level``, or else ``level`` or more.

    More seeds of their series would decide it.
    """
    wrong, series = 1 - rows["exact"].to_numpy(dtype=float), tuple(dict.fromkeys(rows["series"]))
    untested = explain_unfit(rows["fit"]) if _is_beyond(rows).all() else ""
    low, high = (-float("inf"), level) if generalizing else (level, float("inf"))
    return Check(what, wrong, low, high, series=series, untested=untested)


def explain_unfit(fit: pd.Series) -> str:
    """Return why runs do not test what follows from learning, from whether each fits; empty if at least half fit."""
    if fit.mean() >= LEAST_FIT:
        return ""
    return f"{fit.sum():g} of {len(fit)} runs fit" if fit.any() else "no run fits"


def select_published(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the lengths at which the paper's numbers were measured.

    These are those of ``runs``, except for tasks that the paper tested at lengths of their own, each set of which
    counts once.
    """
    has_own = runs.groupby("task")[RANGE].transform("max") > 0
    own = runs[runs[RANGE] > 0].drop_duplicates(["run", "first", "last"])
    return pd.concat([runs[~has_own | ~_is_beyond(runs)], own]).drop_duplicates(["run", "first", "last"])


def _is_beyond(runs: pd.DataFrame) -> pd.Series:
    """Return True for rows of lengths beyond training, as all published ranges except the first are."""
    return (runs["first"] > runs["train_length"]) | (runs[RANGE] > 0)


def _split_beyond(runs: pd.DataFrame, arm: str) -> list[pd.DataFrame]:
    """Return the rows of an arm in each range beyond the training lengths, the shortest first."""
    rows = runs[(runs["arm"] == arm) & _is_beyond(runs)]
    if rows.empty:
        raise NoEvidence(f"no finished run of {arm} that is tested beyond training")
    return [of_range for _, of_range in rows.groupby(["last", "first"])]


def _describe_rows(rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return f"{row['task']}, {row['arm']}, lengths {row['first']:g} to {row['last']:g}: share"
