"""Which runs fit: those that trained to a loss as low as their study asks for. Tables say how many did, and how many
diverged."""

from collections.abc import Mapping, Sequence

import pandas as pd

from synthlab.analysis.names import plain_label
from synthlab.storage.records import Record


def final_loss(training: pd.DataFrame) -> float:
    """The training loss, averaged over the last tenth of the steps."""
    return float(training.loc[training["step"] > 0.9 * training["step"].iloc[-1], "loss"].mean())


def fits(record: Record, level: float) -> bool:
    """Whether a run finished with a training loss of at most ``level``."""
    return record.diverged_at is None and final_loss(record.training) <= level


def count_runs(rows: pd.DataFrame, records: Sequence[Record], level: float | None) -> pd.DataFrame:
    """``rows`` of the runs in ``records``, which are named by their column ``id``, as ``aggregate_seeds`` counts them:
    with
    columns ``diverged``, how many of the runs did, and ``fit``, whether each row's did, unless ``level`` is None."""
    rows = rows.assign(diverged=sum(record.diverged_at is not None for record in records))
    if level is None:
        return rows
    return rows.assign(fit=rows["id"].isin([record.config.id for record in records if fits(record, level)]))


def describe_left_out(series: Mapping[str, Sequence[Record]]) -> str:
    """The series of which runs diverged, with how many, in words; empty where none did."""
    diverged = {name: sum(record.diverged_at is not None for record in runs) for name, runs in series.items()}
    return ", ".join(f"{plain_label(name)} ({runs} diverged)" for name, runs in diverged.items() if runs)
