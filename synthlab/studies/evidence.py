"""The data that claims are judged on: finished runs of one panel, by series, and measurements on each seed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from synthlab.analysis.series import plain_label
from synthlab.analysis.tables import HORIZON, horizon_of
from synthlab.runs.run import Run
from synthlab.storage.records import Record


class Fitting(NamedTuple):
    """How many of the ``runs`` of a grid ``finished`` and ``fit``; and the data of those that fit."""

    runs: int
    finished: int
    fit: int
    given: Any


def fitting_of(table: pd.DataFrame, trained: int) -> Fitting | None:
    """Return the runs that fit in a table of finished runs; None if it has no column ``fit``.

    Each run may have several rows, with its identity in ``run`` or ``id``.
    """
    if "fit" not in table:
        return None
    alone, run = table[table["fit"].astype(bool)], "run" if "run" in table else "id"
    return Fitting(trained, table[run].nunique(), alone[run].nunique(), alone)


class NoEvidence(LookupError):
    """The runs lack what a claim needs."""


class Evidence:
    """The finished runs of one panel, by series. A run fits if its training loss is at most its series' level."""

    def __init__(self, series: Mapping[str, Sequence[Record]], levels: Mapping[str, float] | None = None):
        self.records = {name: [r for r in runs if r.diverged_at is None] for name, runs in series.items()}
        self.names = list(series)
        self.levels = levels
        self.runs = sum(map(len, series.values()))

    @property
    def finished(self) -> int:
        """The number of runs that did not diverge."""
        return sum(map(len, self.records.values()))

    def fitting(self) -> Fitting | None:
        """Return the runs that fit; None without levels."""
        levels = self.levels
        if levels is None:
            return None
        given = Evidence({name: [r for r in runs if fits(r, levels[name])] for name, runs in self.records.items()})
        return Fitting(self.runs, self.finished, given.finished, given)

    def config(self, name: str) -> Run:
        """Return the config of one run of a series. Raises NoEvidence if none is finished."""
        if not self.records.get(name):
            raise NoEvidence(f"no finished run of {name}")
        return self.records[name][0].config

    def errors(self, name: str) -> pd.DataFrame:
        """Return the mean squared error as ``measured`` does."""
        return self.measured(name, "mse")

    def measured(self, name: str, metric: str) -> pd.DataFrame:
        """Return a metric, such as ``exact`` of a sequence task: a row for each seed, a column for each length.

        Raises NoEvidence for runs without the metric.
        """
        metrics = self.config(name).measures().metrics
        if metric not in metrics:
            raise NoEvidence(f"the runs of {name} have no {metric}; they have {', '.join(metrics)}")
        return pd.DataFrame({r.config.seed: r.metrics.set_index("length")[metric] for r in self.records[name]}).T

    def beyond(self, name: str, start: int | None = None, metric: str = "mse") -> pd.DataFrame:
        """Return a metric at the lengths from ``start`` on, by default the first beyond training.

        Raises NoEvidence for runs without it, and if there are less than three lengths, which cannot show a trend.
        """
        first = start or self.config(name).train_length + 1
        values = self.measured(name, metric).loc[:, first:]
        if values.shape[1] < 3:
            raise NoEvidence(f"{name} is not tested far enough beyond length {first}")
        return values

    def ratio(self, name: str, other: str) -> Float[np.ndarray, " seeds"]:
        """Return the error of one series divided by that of another.

        This is, for each seed that both have, the geometric mean over the lengths beyond both training ranges. All
        lengths have equal weight, as on a logarithmic axis.
        """
        a, b = (logarithms(self.beyond(series)) for series in (name, other))
        a, b = a.align(b, join="inner")
        if a.empty:
            raise NoEvidence(f"{name} and {other} have no seed or no length in common")
        return np.exp((a - b).mean(axis="columns", skipna=False).to_numpy())

    def rise(self, name: str, floor: float = 0.0) -> Float[np.ndarray, " seeds"]:
        """Return the largest error beyond training divided by the largest within (at least ``floor``)."""
        within = self.errors(name).loc[:, : self.config(name).train_length].max(axis="columns")
        return (self.beyond(name).max(axis="columns") / within.clip(lower=floor)).to_numpy()

    def trend(self, name: str) -> Float[np.ndarray, " seeds"]:
        """Return the trend of the error over thirds of the lengths beyond training.

        It is the mean error in one third divided by that in the next, the greater of the two. It is less than 1 if the
        error keeps rising.
        """
        errors = self.beyond(name)
        first, second, third = (errors[part].mean(axis="columns") for part in np.array_split(errors.columns, 3))
        return pd.concat([first / second, second / third], axis="columns").max(axis="columns", skipna=False).to_numpy()

    def horizons(self, name: str, at_least: int) -> Float[np.ndarray, " seeds"]:
        """Return the horizon of each run.

        Raises NoEvidence unless lengths up to ``at_least`` are tested, and for runs that have no horizon.
        """
        if self.config(name).measures().horizon is None:
            raise NoEvidence(f"the runs of {name} have no horizon")
        if self.config(name).test_length < at_least:
            raise NoEvidence(f"{name} is not tested up to length {at_least}")
        return np.array([horizon_of(record)[HORIZON] for record in self.records[name]], dtype=float)

    def check_is_about(self, settings: Mapping[str, str], series: Sequence[str]) -> None:
        """Raise NoEvidence unless all runs have the members in ``settings`` (by group), and all ``series`` exist."""
        missing = [name for name in series if name not in self.names]
        if missing:
            raise NoEvidence(f"no runs of {', '.join(missing)}")
        for name in self.names:
            for group, wanted in settings.items():
                found = getattr(self.config(name), group)["name"]
                if found != wanted:
                    raise NoEvidence(f"the claim is about {group}={wanted}, the runs of {name} have {group}={found}")


def logarithms(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the natural logarithm of each number of a table."""
    return cast(pd.DataFrame, np.log(errors))  # NumPy's types promise an array, but pandas returns a table


def final_loss(training: pd.DataFrame) -> float:
    """Return the training loss, averaged over the last tenth of the steps."""
    return float(training.loc[training["step"] > 0.9 * training["step"].iloc[-1], "loss"].mean())


def fits(record: Record, level: float) -> bool:
    """Return True if a run finished with a training loss of at most ``level``."""
    return record.diverged_at is None and final_loss(record.training) <= level


def describe_left_out(series: Mapping[str, Sequence[Record]]) -> str:
    """Return, in words, the series with diverged runs and their number; empty if there are none."""
    diverged = {name: sum(record.diverged_at is not None for record in runs) for name, runs in series.items()}
    return ", ".join(f"{plain_label(name)} ({runs} diverged)" for name, runs in diverged.items() if runs)
