"""Runs that fit: those whose training loss is at most the level of their study.

Tables count how many fit, and how many diverged.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from synthlab.analysis.names import plain_label
from synthlab.storage.records import Record


def final_loss(training: pd.DataFrame) -> float:
    """Return the training loss, averaged over the last tenth of the steps."""
    return float(training.loc[training["step"] > 0.9 * training["step"].iloc[-1], "loss"].mean())


def fits(record: Record, level: float) -> bool:
    """Return True if a run finished with a training loss of at most ``level``."""
    return record.diverged_at is None and final_loss(record.training) <= level


def count_runs(rows: pd.DataFrame, records: Sequence[Record], level: float | None) -> pd.DataFrame:
    """Return ``rows`` with columns that ``aggregate_seeds`` counts.

    ``diverged`` is how many of the runs in ``records`` diverged. ``fit`` is True if the row's run, named by its column
    ``id``, fits; it is missing if ``level`` is None.
    """
    rows = rows.assign(diverged=sum(record.diverged_at is not None for record in records))
    if level is None:
        return rows
    return rows.assign(fit=rows["id"].isin([record.config.id for record in records if fits(record, level)]))


def describe_left_out(series: Mapping[str, Sequence[Record]]) -> str:
    """Return, in words, the series with diverged runs and their number; empty if there are none."""
    diverged = {name: sum(record.diverged_at is not None for record in runs) for name, runs in series.items()}
    return ", ".join(f"{plain_label(name)} ({runs} diverged)" for name, runs in diverged.items() if runs)
