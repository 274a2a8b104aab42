"""Studies of predictors of a model's loss or error on longer texts: correlations over models, and their power."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import cast

import numpy as np
import pandas as pd

from experiments.correlations import (
    WITNESSES,
    correlation,
    lead,
    pearson,
    range_without_one,
    spearman,
)
from experiments.long_short_alignment.analyses import Analysis, Names
from experiments.long_short_alignment.drawings import LETTERS, Scatter
from experiments.long_short_alignment.power import DetectionPower, Lead, power
from experiments.long_short_alignment.run_table import (
    FURTHER,
    MISALIGNMENTS,
    QUANTITIES,
    SAME_TARGETS,
    SCALAR_QUANTITIES,
    WITHIN,
    among_targets,
    less_means,
    scalar_table,
)
from experiments.long_short_alignment.scalar import ScalarRun
from synthlab.analysis.plotting import DataPanel
from synthlab.numbers.evaluation import constant_loss
from synthlab.studies.evidence import fits

HOW = {how.__name__: how for how in (pearson, spearman)}


class OverModels(Analysis):
    """Correlations over models, as a table; the column ``over`` names the models.

    These are all models and, if the runs tell which fit, those alone.
    """

    @abstractmethod
    def correlations(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the correlations over the models in ``runs``."""

    def tables(self, runs, records):
        rows = {"all": runs}
        if "fit" in runs:
            rows["fit"] = self.restrict(runs[runs["fit"]])
        tables = {over: self.correlations(these) for over, these in rows.items()}
        return {"correlations": pd.concat(tables, names=["over", None]).reset_index("over")}


class Correlations(OverModels):
    """Which quantity predicts each of ``outcomes``, compared with the last of ``predictors``.

    Correlations are over all models, and among those of one setting, which differ only in encoding or extension. There
    is a panel for each of ``predictors`` and the first outcome. ``worth`` is the smallest lead over the last predictor
    that is worth detecting.
    """

    def __init__(self, outcomes: Names, predictors: Names, worth: Lead):
        self.outcomes, self.predictors, self.worth = outcomes, predictors, worth

    def runs(self, records, names):
        """Return the runs with the ``setting`` of each model.

        Columns ``..._within`` have the mean over the models of the same setting and seed subtracted.
        """
        runs = super().runs(records, names)
        return self.restrict(runs.assign(setting=name_settings(runs["variant"])))

    def restrict(self, runs):
        columns = [name for name in dict.fromkeys([*QUANTITIES, *self.outcomes]) if name in runs]
        return less_means(runs, ["setting", "seed"], columns)

    def panels(self, runs, records):
        outcome = self.outcomes[0]
        drawn = runs.assign(series=runs["variant"].str.partition(",")[0])
        columns = ["series", "variant", "group", "setting", "seed", *(name for name in runs if name == "fit")]
        among = {"": "", WITHIN: ", less its setting's mean"}
        labels = {name + kind: QUANTITIES[name] + told for name in QUANTITIES for kind, told in among.items()}
        return {
            name + kind: DataPanel(
                fill(labels[name + kind], LETTERS),
                Scatter(name + kind, outcome + kind, labels, "settings"),
                drawn[[*columns, outcome + kind, name + kind]].reset_index(drop=True),
            )
            for kind in ("", WITHIN)
            for name in self.predictors
        }

    def correlations(self, runs):
        predictors = [
            name
            for name in dict.fromkeys([*self.predictors, *MISALIGNMENTS])
            if name in runs and np.isfinite(runs[name]).all()
        ]
        pairs = [(name, outcome) for outcome in self.outcomes for name in predictors if name != outcome]
        parts = []
        for kind in ("", WITHIN):
            table = correlate(runs, [(x + kind, y + kind) for x, y in pairs], ("settings", "encodings"))
            rows = list(table[["predictor", "outcome", "kind", "of"]].itertuples(index=False))
            last, within = self.predictors[-1] + kind, ["setting", "seed"] if kind else []
            leads = [lead(runs, x, last, y, WITNESSES[of], HOW[how]) for x, y, how, of in rows]
            table[["lead", "lead_low", "lead_high"]] = leads
            table[list(DetectionPower._fields)] = [
                power(found, number, self.worth) for found, number in zip(leads, table["number"], strict=True)
            ]
            table[["least_without_one", "greatest_without_one"]] = [
                range_without_one(runs, x, y, HOW[how], within) for x, y, how, _ in rows
            ]
            parts.append(table)
        return pd.concat(parts, ignore_index=True)


def name_settings(variants: pd.Series) -> pd.Series:
    """Return the setting of each model: its variant without its encoding or extension and without its fine-tuning."""
    return variants.str.replace(r", fine-tuned(?=,|$)", "", regex=True).str.partition(", ")[2]


class Scalar(OverModels):
    """The same for number tasks: does misalignment predict the error at five times the training length?

    Correlations are over all tasks, in each, and among the models of one task and map.
    """

    run_class = ScalarRun
    reach = FURTHER
    # Pairs of axes: of the models, of the targets, of suffixes, and among models that are alike.
    drawn = (
        ("wasserstein_scaled", "error_5x"),
        ("targets_scaled", "error_5x"),
        ("suffix_scaled", "error_5x"),
        ("wasserstein_within", "error_within"),
    )

    def runs(self, records, names):
        return self.restrict(scalar_table(records))

    def fits(self, runs, records, level):
        """Return True for runs whose training loss is at most ``level`` times that of the best constant prediction.

        The training loss has no regularizer.
        """
        levels = {record.config.id: level * constant_loss(cast(ScalarRun, record.config)) for record in records}
        return runs["id"].isin([record.config.id for record in records if fits(record, levels[record.config.id])])

    def restrict(self, runs):
        return among_targets(runs)

    def panels(self, runs, records):
        rows, columns, labels = runs.assign(series=runs["task"]), ["series", "group", "seed"], SCALAR_QUANTITIES
        return {
            x: DataPanel(labels[x], Scatter(x, y, labels, "trainings"), rows[[*columns, x, y]]) for x, y in self.drawn
        }

    def correlations(self, runs):
        tasks = {"all": runs} | dict(list(runs.groupby("task", sort=False)))
        further = (("wasserstein", "error_5x"), ("suffix", "error_5x"), ("wasserstein_raw_within", "error_within"))
        pairs = (*self.drawn, *further)
        parts = []
        for rows in tasks.values():
            table = correlate(rows, pairs, ("trainings", "encodings"))
            each = list(table[["predictor", "outcome", "kind"]].itertuples(index=False))
            table[["least_without_one", "greatest_without_one"]] = [
                range_without_one(rows, x, y, HOW[how], SAME_TARGETS if x.endswith(WITHIN) else ())
                for x, y, how in each
            ]
            parts.append(table)
        return pd.concat(parts, keys=tasks, names=["task", None]).reset_index("task")


def correlate(rows: pd.DataFrame, pairs: Iterable[tuple[str, str]], units: Sequence[str]) -> pd.DataFrame:
    """Return Pearson's and Spearman's correlation of each pair, with an interval for each kind of units."""
    return pd.DataFrame(
        {"predictor": x, "outcome": y, "kind": how.__name__}
        | correlation(rows, x, y, WITNESSES[of], how)._asdict()
        | {"models": len(rows), "number": rows[WITNESSES[of]].nunique(), "of": of}
        for x, y in pairs
        for how in HOW.values()
        for of in units
    )
