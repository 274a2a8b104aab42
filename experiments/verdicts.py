"""How a claim is decided: checks on the records of a figure's panels, and a verdict that follows from them.

A check has one value for each seed and holds if their median lies in the interval wanted; a claim holds if all its
checks do, in part if some do, unless one fails without which the others are worth nothing. From the least to the
greatest of n seeds is an interval that covers the true median with probability 1 - 2^(1 - n), whatever the
distribution: 94 % for five seeds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from synthlab.config import RunConfig
from synthlab.metrics import horizon
from synthlab.records import Record


class NoEvidence(LookupError):
    """What a claim needs is not among the runs."""


class Check(NamedTuple):
    """Something measured on every seed, and the interval [``low``, ``high``) in which its median must lie."""

    what: str
    values: Float[np.ndarray, " seeds"]
    low: float = -np.inf
    high: float = np.inf
    decisive: bool = False  # the claim does not hold, not even in part, if this check fails

    @property
    def median(self) -> float:
        """Over seeds; NaN where no run is finished."""
        return float(np.median(self.values)) if len(self.values) else np.nan

    @property
    def least(self) -> float:
        """Over seeds."""
        return float(np.min(self.values)) if len(self.values) else np.nan

    @property
    def greatest(self) -> float:
        """Over seeds."""
        return float(np.max(self.values)) if len(self.values) else np.nan

    @property
    def fulfilling(self) -> int:
        """How many seeds have their own value in the interval."""
        return sum(map(self._inside, self.values))

    @property
    def holds(self) -> bool:
        """Whether the median lies in the interval."""
        return self._inside(self.median)

    def _inside(self, value: float) -> bool:
        return bool(self.low <= value and (value < self.high or self.high == np.inf))


class Evidence:
    """The finished runs of one panel, by series."""

    def __init__(self, series: Mapping[str, Sequence[Record]]):
        self.records = {name: [r for r in runs if r.diverged_at is None] for name, runs in series.items()}
        self.names = list(series)

    def config(self, name: str) -> RunConfig:
        """The config of a series, that of one of its runs. Raises NoEvidence where none is finished."""
        if not self.records.get(name):
            raise NoEvidence(f"no finished run of {name}")
        return self.records[name][0].config

    def errors(self, name: str, metric: str = "mse") -> pd.DataFrame:
        """A row for each seed, a column for each length."""
        self.config(name)
        return pd.DataFrame({r.config.seed: r.metrics.set_index("length")[metric] for r in self.records[name]}).T

    def beyond(self, name: str, start: int | None = None, step: int = 1) -> pd.DataFrame:
        """``errors`` at every ``step``-th length from ``start`` (by default the first beyond training). Raises
        NoEvidence where there are less than two."""
        first = start or self.config(name).train_length + 1
        errors = self.errors(name).loc[:, first::step]
        if errors.shape[1] < 2:
            raise NoEvidence(f"{name} is not tested far enough beyond length {first}")
        return errors

    def ratio(self, name: str, other: str) -> Float[np.ndarray, " seeds"]:
        """Error of one series / that of another: for each seed that both have, the geometric mean over the lengths
        that lie beyond both training ranges. All lengths then count alike, as on the figure's logarithmic axis."""
        a, b = (np.log(self.beyond(series)) for series in (name, other))
        a, b = a.align(b, join="inner")
        if a.empty:
            raise NoEvidence(f"{name} and {other} have no seed or no length in common")
        return np.exp((a - b).mean(axis="columns", skipna=False)).to_numpy()

    def growth(self, name: str) -> Float[np.ndarray, " seeds"]:
        """Error at the longest test length / error at the longest training length."""
        errors = self.beyond(name, self.config(name).train_length)
        return (errors.iloc[:, -1] / errors.iloc[:, 0]).to_numpy()

    def horizons(self, name: str, at_least: int) -> Float[np.ndarray, " seeds"]:
        """The length up to which the relative error stays under 5 %. Raises NoEvidence unless lengths up to
        ``at_least`` are tested."""
        if self.config(name).test_length < at_least:
            raise NoEvidence(f"{name} is not tested up to length {at_least}")
        return np.array([horizon(errors) for errors in self.errors(name, "relative_error").to_numpy()], dtype=float)

    def steps_to(self, name: str, loss: float) -> pd.Series:
        """By seed, the first recorded step at which the training loss is below ``loss``; infinite if it never is."""
        self.config(name)
        reached = {r.config.seed: r.training.loc[r.training["loss"] < loss, "step"] for r in self.records[name]}
        return pd.Series({seed: steps.min() if len(steps) else np.inf for seed, steps in reached.items()})

    def check_is_about(self, settings: Mapping[str, str], series: Sequence[str]) -> None:
        """Raise NoEvidence unless all runs have the members that ``settings`` names (by group), and every one of
        ``series`` is there."""
        missing = [name for name in series if name not in self.names]
        if missing:
            raise NoEvidence(f"no runs of {', '.join(missing)}")
        for name in self.names:
            for group, wanted in settings.items():
                found = getattr(self.config(name), group)["name"]
                if found != wanted:
                    raise NoEvidence(f"the claim is about {group}={wanted}, the runs of {name} have {group}={found}")


class Claim(NamedTuple):
    """What the paper says, where, of what runs, and how it is decided."""

    id: str
    where: str
    statement: str
    quantity: str
    why: str  # the thresholds are what they are
    about: Mapping[str, str]  # the member of each group that the runs must have
    series: Sequence[str]  # that must be among them
    judge: Callable[[Evidence], list[Check]]


class Verdict(NamedTuple):
    """A claim with the checks that decide it, made on the panels of one figure; ``missing`` says what could not be
    checked."""

    claim: Claim
    figure: str
    checks: list[Check]
    missing: list[str]

    @property
    def word(self) -> str:
        """``holds``, ``holds in part``, ``does not hold``, or ``not judged`` where something was missing."""
        if self.missing or not self.checks:
            return "not judged"
        held = [check.holds for check in self.checks]
        if all(held):
            return "holds"
        failed = not any(held) or any(check.decisive and not check.holds for check in self.checks)
        return "does not hold" if failed else "holds in part"


def judge(claims: Iterable[Claim], figure: str, panels: Sequence[tuple[Sequence[str], Evidence]]) -> list[Verdict]:
    """The verdicts on those ``claims`` that the panels of ``figure`` are evidence for: of each panel, the ids of its
    claims and its runs."""
    verdicts = []
    for claim in claims:
        checks, missing = [], []
        for evidence in (evidence for names, evidence in panels if claim.id in names):
            try:
                evidence.check_is_about(claim.about, claim.series)
                checks += claim.judge(evidence)
            except NoEvidence as error:
                missing.append(str(error))
        if checks or missing:
            verdicts.append(Verdict(claim, figure, checks, missing))
    return verdicts
