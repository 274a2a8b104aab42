"""Rank correlations over encodings between misalignment within the training length and failure beyond it."""

import math
from collections.abc import Callable, Mapping
from typing import cast

import pandas as pd

from experiments.correlations import Correlation, correlation, lead, spearman
from experiments.long_short_alignment.analyses import Names
from experiments.long_short_alignment.drawings import Scatter
from experiments.long_short_alignment.drawn_encodings.draw import find_family
from experiments.long_short_alignment.predictions import OverModels, Scalar
from experiments.long_short_alignment.run_table import (
    QUANTITIES,
    SCALAR_QUANTITIES,
    WITHIN,
    Named,
    less_means,
    make_run_table,
    scalar_table,
)
from experiments.long_short_alignment.scalar import ScalarRun
from synthlab.analysis.plotting import DataPanel
from synthlab.numbers.evaluation import constant_loss
from synthlab.studies.evidence import final_loss
from synthlab.studies.study import Rows

TRAINING = "loss_1x"  # what misalignment competes with
SHOWN = {
    "excess": "misalignment beyond entropy",
    "sce": "misalignment (equation 2)",
    TRAINING: "loss within the training length",
}
LABELS = {
    **QUANTITIES,
    **SCALAR_QUANTITIES,
    "excess_scaled": "misalignment beyond entropy, relative to the entropy",
    "rise": "loss after $3l$ to $4l$ tokens less that after 1 to $l$, nats",
}


class OverEncodings(OverModels):
    """Which of the ``predictors`` correlates with each of the ``outcomes`` over encodings, by ranks.

    An encoding is one observation, the mean over its seeds. There is a panel for each task and predictor, with the
    first outcome.
    """

    labels: Mapping[str, str] = LABELS

    def __init__(self, outcomes: Names, predictors: Names):
        self.outcomes, self.predictors = outcomes, predictors

    def panels(self, runs, records):
        y = self.outcomes[0]
        return {
            f"{task}_{x}": DataPanel(
                f"{task}: {self.labels.get(x, x)}",
                Scatter(x, y, {name: self.labels.get(name, name) for name in (x, y)}, "encodings"),
                units[["series", "encoding", x, y]].assign(seed=range(len(units))),  # each has several of its own
            )
            for task, units in split_tasks(runs).items()
            for x in (*self.predictors, TRAINING)
        }

    def correlations(self, runs):
        rows = []
        for task, units in split_tasks(runs).items():
            for outcome in self.outcomes:
                for predictor in (*self.predictors, TRAINING):
                    found = compare(units, predictor, outcome)
                    rows.append({"task": task, "predictor": predictor, "outcome": outcome} | found)
        return pd.DataFrame(rows)


class OnTexts(OverEncodings):
    """The same for language models, with their misalignment beyond entropy relative to the entropy."""

    def runs(self, records, names):
        runs = _name(make_run_table(records, names), names)
        entropy = runs["sce"] - runs["excess"]
        return runs.assign(excess_scaled=runs["excess"] / entropy, rise=runs["loss_4x"] - runs["loss_1x"])


class OnNumbers(OverEncodings):
    """The same for number tasks. ``loss_1x`` is the training loss, relative to the best constant prediction's."""

    labels = LABELS | {TRAINING: "training loss, relative to the best constant's"}
    run_class, reach, fits = Scalar.run_class, Scalar.reach, Scalar.fits

    def runs(self, records, names):
        finished = [record for record in records if record.diverged_at is None]
        losses = [final_loss(each.training) / constant_loss(cast(ScalarRun, each.config)) for each in finished]
        return _name(scalar_table(finished), names).assign(loss_1x=losses)


def _name(runs: pd.DataFrame, names: Mapping[str, Named]) -> pd.DataFrame:
    """Return ``runs`` with the drawn ``encoding`` of each, its ``family``, and the lab's name as ``series``."""
    arms = [names[id].arm for id in runs["id"]]
    variants = [names[id].variant for id in runs["id"]]
    return runs.assign(
        series=runs["encoding"], encoding=arms, arm=arms, variant=variants, family=[find_family(arm) for arm in arms]
    )


def split_tasks(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return, for each task, a row for each encoding with the means over its seeds."""
    means = runs.groupby(["task", "series", "family", "encoding"], sort=False).mean(numeric_only=True).reset_index()
    return {str(task): units.reset_index(drop=True) for task, units in means.groupby("task", sort=False)}


def compare(units: pd.DataFrame, x: str, y: str) -> dict[str, float]:
    """Return the correlation of two columns and its lead over that of the training loss, with intervals of 95 %.

    These are over encodings, over families, and from the least to the greatest end without any one family.
    """
    found = {"encodings": len(units), "families": units["family"].nunique()}
    for name, other in (("value", None), ("lead", TRAINING)):
        over, families = (measure(units, x, y, by, other) for by in ("encoding", "family"))
        widest = widen(units, lambda rows, other=other: measure(rows, x, y, "encoding", other))
        found |= {name: over.value, f"{name}_low": over.low, f"{name}_high": over.high}
        found |= {f"{name}_low_without_one": widest.low, f"{name}_high_without_one": widest.high}
        found |= {f"{name}_low_families": families.low, f"{name}_high_families": families.high}
    return found


def measure(units: pd.DataFrame, x: str, y: str, by: str = "encoding", other: str | None = None) -> Correlation:
    """Return the rank correlation of two columns, or its lead over that of ``other``, with units ``by`` a column."""
    return correlation(units, x, y, by, spearman) if other is None else lead(units, x, other, y, by, spearman)


def widen(units: pd.DataFrame, statistic: Callable[[pd.DataFrame], Correlation]) -> Correlation:
    """Return a ``statistic`` of all encodings, with an interval that covers those without any one family."""
    parts = [units, *(units[units["family"] != family] for family in units["family"].unique())]
    every = [statistic(part) for part in parts if part["encoding"].nunique() > 1]
    lows, highs = [each.low for each in every], [each.high for each in every]
    is_known = not any(map(math.isnan, [*lows, *highs]))
    return Correlation(every[0].value, min(lows) if is_known else math.nan, max(highs) if is_known else math.nan)


def tabulate_predictors(runs: pd.DataFrame) -> Rows:
    """Return the rank correlation of each predictor with the loss after 3 to 4 training lengths, in three parts.

    Within families, ranks are less their mean over the family.
    """
    (units,) = split_tasks(runs).values()
    outcome, rows = "loss_4x", Rows()
    ranks = units.assign(**{name: units[name].rank() for name in (*SHOWN, outcome)})
    parts = {
        "all": units,
        "without learned and sinusoidal": units[~units["family"].isin(["learned", "sinusoidal"])],
        "within families": less_means(ranks, ["family"], [*SHOWN, outcome]),
    }
    for name, about in SHOWN.items():
        row = {"within the training length": about}
        for part, among in parts.items():
            suffix = WITHIN if part == "within families" else ""
            row[part] = str(measure(among, name + suffix, outcome + suffix))
        rows.append(
            row | {"lead, over all": "" if name == TRAINING else str(measure(units, name, outcome, other=TRAINING))}
        )
    return rows
